#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""One table in a group."""

import threading
import unittest

import colltune
from planted import PlantedTest, plant


class Group:
    """Ranks as threads."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size, timeout=60)
        self.said = [None] * size

    def run(self, body):
        """What `body(rank, all_gather)` returned or raised on each rank."""
        results = [None] * len(self.said)

        def rank_body(rank):
            def all_gather(value):
                self.said[rank] = value
                self.barrier.wait()
                all_of_them = list(self.said)
                self.barrier.wait()
                return all_of_them
            try:
                results[rank] = body(rank, all_gather)
            except colltune.Error as error:
                results[rank] = error

        threads = [threading.Thread(target=rank_body, args=(rank,)) for rank in range(len(results))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


class GroupTest(PlantedTest):
    def open_paths(self, paths):
        return Group(len(paths)).run(lambda rank, gather: colltune.open_in_group(rank, gather, paths[rank]))

    def test_all_open_one_table(self):
        tables = self.open_paths([self.path] * 4)
        self.assertEqual({table.digest for table in tables}, {tables[0].digest})

    def test_a_stale_or_missing_file_is_an_error_everywhere(self):
        stale = self.folder / "stale.ctt"
        plant("table", stale, 6)
        for paths, part in [([self.path, self.path, stale, self.folder / "none"], "ranks 2, 3 of 4"),
                            ([self.path, self.folder / "none"], "rank 1 of 2 did not open the table of rank 0"),
                            ([self.folder / "none", self.path], "rank 0 of 2 opened no table")]:
            with self.subTest(part):
                errors = self.open_paths(paths)
                self.assertEqual({type(error) for error in errors}, {colltune.Error})
                self.assertEqual(len({str(error) for error in errors}), 1)
                self.assertIn(part, str(errors[0]))


if __name__ == "__main__":
    unittest.main()
