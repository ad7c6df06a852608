#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and answers from a daemon."""

import pickle
import unittest

import colltune
from planted import QUESTION, Daemon, PlantedTest


class DaemonTest(PlantedTest):
    def test_a_fetched_table_answers_as_a_file_does(self):
        with Daemon(self.folder) as daemon, colltune.open(server=daemon.address, timeout=60) as table:
            self.assertEqual((table.generation, table.decisions), (1, 5))
            answer = table.find(**QUESTION)
            self.assertEqual((answer.variant, answer.time_ns), ("cpu.one_shot{n=2}", 1000))
            with colltune.open(server=daemon.address, digest=table.digest, timeout=60) as again:
                self.assertEqual(again.find(**QUESTION), answer)
            with pickle.loads(pickle.dumps(table)) as again:
                self.assertEqual(again.digest, table.digest)
            with self.assertRaises(colltune.Error) as caught:
                colltune.open(server=daemon.address, digest="0" * 32, timeout=60)
            self.assertEqual(caught.exception.code, 9)

    def test_follows_generations(self):
        with Daemon(self.folder) as daemon, colltune.Client(daemon.address, timeout=60) as client:
            first = client.generations()
            self.assertEqual((first.newest, first.pinnable), (1, (1,)))
            self.assertEqual(client.wait_for_generation(first, 0), first)
            with client.table() as old:
                self.assertEqual(daemon.publish(), 2)
                second = client.wait_for_generation(old, 60)
                self.assertEqual(second.newest, 2)
                self.assertEqual(old.find(**QUESTION).time_ns, 1000)  # it keeps what it has
                with client.table(generation=1, generation_digest=first.newest_digest) as pinned:
                    self.assertEqual(pinned.digest, old.digest)
                with client.table() as new:
                    self.assertEqual(new.find(**QUESTION).time_ns, 1001)

    def test_a_single_question(self):
        with Daemon(self.folder) as daemon:
            answer = colltune.lookup_once(**QUESTION, server=daemon.address, timeout=60)
            self.assertEqual((answer.variant, answer.guess, answer.generation), ("cpu.one_shot{n=2}", "", 1))

    def test_a_single_question_about_counts(self):
        question = {**QUESTION, "collective": "all_gather"}
        with Daemon(self.folder) as daemon, colltune.Client(daemon.address, timeout=60) as client:
            self.assertEqual(client.lookup_once(**question).variant, "cpu.of_equal")
            self.assertEqual(client.lookup_once(**question, counts="random").variant, "cpu.of_random")
            with self.assertRaises(colltune.Error) as caught:
                client.lookup_once(**question, counts="one_large")
            self.assertEqual(caught.exception.name, "not_found")

    def test_a_size_that_was_not_measured_has_a_prediction(self):
        question = {**QUESTION, "bytes": 2048}
        with Daemon(self.folder) as daemon, colltune.Client(daemon.address, timeout=60) as client:
            answer = client.lookup_once(**question)
            self.assertEqual((answer.variant, answer.source, answer.prediction.model), ("mpi.default", "interpolated", "alpha_beta"))
            self.assertLessEqual(answer.prediction.low_ns, answer.time_ns)
            self.assertGreaterEqual(answer.prediction.high_ns, answer.time_ns)
            self.assertIsNone(client.lookup_once(**QUESTION).prediction)
            with client.table() as table:
                self.assertEqual(table.find(**question).prediction, answer.prediction)

    def test_a_number_of_ranks_that_was_not_measured_is_predicted_if_that_is_accepted(self):
        question = {**QUESTION, "bytes": 16384, "ranks_per_node": 8}
        accepting = {**question, "at_least": "other_ranks"}
        with Daemon(self.folder, "publish_two_worlds") as daemon, colltune.Client(daemon.address, timeout=60) as client:
            answer = client.lookup_once(**accepting)
            self.assertEqual((answer.variant, answer.source, answer.match), ("cpu.ring", "predicted", "other_ranks"))
            self.assertEqual(answer.prediction.model, "loggp")
            # A step of 1 us for each of 7 ranks, and an eighth of a ns for each byte.
            self.assertAlmostEqual(answer.time_ns, 7000 + 2048, delta=100)
            self.assertLessEqual(answer.prediction.low_ns, answer.time_ns)
            self.assertGreaterEqual(answer.prediction.high_ns, answer.time_ns)
            self.assertIn("nothing was measured with 8 rank(s) per node", answer.reason)
            self.assertEqual(colltune.lookup_once(**accepting, server=daemon.address, timeout=60).variant, "cpu.ring")
            measured = client.lookup_once(**{**accepting, "ranks_per_node": 4})
            self.assertEqual((measured.source, measured.match, measured.prediction), ("measured", "exact", None))
            for level in (None, "exact", "nearest_size", "any_environment"):
                with self.assertRaises(colltune.Error) as caught:
                    client.lookup_once(**question, at_least=level)
                self.assertEqual(caught.exception.name, "not_found", level)
            with self.assertRaises(colltune.Error) as caught:
                client.lookup_once(**question, at_least="any_ranks")
            self.assertEqual(caught.exception.name, "invalid_argument")
            self.assertIn("other_ranks", caught.exception.message)
            with client.table() as table:
                of_table = table.find(**accepting)
                self.assertEqual((of_table.variant, of_table.source, of_table.match), ("cpu.ring", "predicted", "other_ranks"))
                self.assertEqual(of_table.prediction, answer.prediction)
                with self.assertRaises(colltune.Error) as caught:
                    table.find(**question)
                self.assertEqual(caught.exception.name, "not_found")

    def test_nobody_listens(self):
        with self.assertRaises(colltune.Error) as caught:
            colltune.open(server=f"unix:{self.folder / 'nobody'}", timeout=0.5)
        self.assertIn(caught.exception.name, ("unavailable", "deadline_exceeded"))
        self.assertIn("nobody", caught.exception.message)
        with self.assertRaises(colltune.Error):
            colltune.Client("nonsense")


if __name__ == "__main__":
    unittest.main()
