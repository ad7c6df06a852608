#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Tables from files."""

import os
import pickle
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import colltune
from planted import QUESTION, PlantedTest, plant


class TableTest(PlantedTest):
    def test_says_which_table_it_is(self):
        with colltune.open(path=self.path) as table:
            self.assertEqual((table.generation, table.generation_digest, table.store), (7, "content 7", "store"))
            self.assertEqual((len(table.digest), len(table.environment), table.decisions), (32, 32, 5))
            with colltune.open(path=str(self.path), digest=table.digest) as again:
                self.assertEqual(again.digest, table.digest)

    def test_finds(self):
        with colltune.open(path=self.path) as table:
            answer = table.find("all_reduce", "f32", 1024, nodes=1, ranks_per_node=2)
            self.assertEqual((answer.variant, answer.time_ns), ("cpu.one_shot{n=2}", 1007))
            self.assertEqual((answer.baseline, answer.baseline_time_ns), ("mpi.default", 2014))
            self.assertEqual((answer.source, answer.verdict, answer.status), ("measured", "no_baseline", "provisional"))
            self.assertFalse(answer.is_baseline)
            self.assertEqual(table.find("all_reduce", "f32", 4096).variant, "mpi.default")
            self.assertEqual(table.find(**QUESTION), answer)

    def test_the_rest_is_looked_up(self):
        with colltune.open(path=self.path) as table:
            answer = table.find("gather", "f32", 1024)
            self.assertEqual([one.variant for one in answer.ranked],
                             ["mpi.gather_tuned{algorithm=linear_sync,segment_size=0}", "mpi.default"])
            self.assertEqual(answer.ranked[0].median_ns, answer.time_ns)
            self.assertEqual(answer.apply.by, "environment")
            self.assertIn("OMPI_MCA_coll_tuned_gather_algorithm=3", answer.apply.variables)
            self.assertTrue(answer.ranked[1].is_baseline)
            self.assertEqual((answer.match, answer.members, answer.generation), ("exact", "not_asked", 7))
            self.assertEqual((answer.environment, answer.calling, answer.input), (table.environment, "each", "rewritten"))
            self.assertEqual(answer.measured_bytes, (1024,))
            self.assertTrue(answer.reason)
            with self.assertRaises(AttributeError):
                answer.something

    def test_short_and_whole_answers_agree(self):
        with colltune.open(path=self.path) as table:
            for size in (0, 1, 512, 1000, 1024, 2000, 3333, 4096, 1 << 20):
                answer = table.find("all_reduce", "f32", size, op="sum")
                self.assertEqual((answer.variant, answer.time_ns, answer.source),
                                 (answer.ranked[0].variant, answer.ranked[0].median_ns, answer.whole.source), size)
                whole = table.find("all_reduce", "f32", size, at_least="any_environment")
                self.assertEqual(whole, answer)
                self.assertEqual((whole.variant, whole.time_ns, whole.baseline, whole.baseline_time_ns, whole.status),
                                 (answer.variant, answer.time_ns, answer.baseline, answer.baseline_time_ns, answer.status))

    def test_finds_by_counts(self):
        question = {**QUESTION, "collective": "all_gather"}
        expected = [(None, "cpu.of_equal", 700), ("equal", "cpu.of_equal", 700), ("random", "cpu.of_random", 1100)]
        with colltune.open(path=self.path) as table:
            for _ in range(2):  # the second time without a lookup
                for counts, variant, time_ns in expected:
                    with self.subTest(counts=counts):
                        answer = table.find(**question, counts=counts)
                        self.assertEqual((answer.variant, answer.time_ns), (variant, time_ns))
                        self.assertEqual((answer.ranked[0].variant, answer.ranked[0].median_ns), (variant, time_ns))
                        self.assertEqual(table.find(**question, counts=counts, at_least="any_environment"), answer)
            self.assertEqual(table.find(**question).variant, "cpu.of_equal")
            answers = table.find_many([{**question, "counts": counts} for counts, _, _ in expected])
            self.assertEqual([(one.variant, one.time_ns) for one in answers], [one[1:] for one in expected])
            for counts, collective, name, part in [
                    ("one_large", "all_gather", "not_found", "one_large"),
                    ("odd", "all_gather", "invalid_argument", "unknown counts 'odd'; allowed are equal, one_large, random"),
                    ("random", "all_reduce", "invalid_argument", "unequal ones are for all_gather and reduce_scatter"),
                    (7, "all_gather", "invalid_argument", "counts is 7, and must be a text")]:
                with self.subTest(counts=counts), self.assertRaises(colltune.Error) as caught:
                    table.find(**{**question, "collective": collective}, counts=counts)
                self.assertEqual(caught.exception.name, name)
                self.assertIn(part, caught.exception.message)

    def test_finds_many(self):
        with colltune.open(path=self.path) as table:
            questions = [("all_reduce", "f32", 256 * i, 1, 2) for i in range(100)]
            answers = table.find_many(questions)  # slowly, since the calls are new
            again = table.find_many(questions)
            self.assertEqual(len(answers), 100)
            for i, question in enumerate(questions):
                one = table.find(*question)
                self.assertEqual((answers[i].variant, answers[i].time_ns), (one.variant, one.time_ns))
                self.assertEqual(again.times_ns()[i], one.time_ns)
            self.assertEqual(answers[-1], again[99])
            self.assertEqual(len(answers[3:5]), 2)
            self.assertEqual(len(table.find_many([])), 0)

    def test_each_of_a_batch_has_its_own_error(self):
        with colltune.open(path=self.path) as table:
            answers = table.find_many([("all_reduce", "f32", 1024), {**QUESTION, "op": "max"}, {**QUESTION, "at_least": "exact"},
                                       ("all_reduce", "f99", 1024), 17, {"dtype": "f32"}, ("all_reduce", "f32", -1, 1, 2)])
            self.assertEqual((answers[0].variant, answers[2].variant), ("cpu.one_shot{n=2}", "cpu.one_shot{n=2}"))
            self.assertEqual({number: error.name for number, error in answers.errors.items()},
                             {1: "not_found", 3: "invalid_argument", 4: "invalid_argument", 5: "invalid_argument",
                              6: "invalid_argument"})
            self.assertEqual([time >= 0 for time in answers.times_ns()], [True, False, True, False, False, False, False])
            with self.assertRaises(colltune.Error):
                answers[1]
            with self.assertRaises(IndexError):
                answers[7]

    def test_errors_say_what_is_allowed(self):
        with colltune.open(path=self.path) as table:
            for question, name, part in [
                    ({"collective": "all_redcue"}, "invalid_argument", "all_reduce, all_gather"),
                    ({"dtype": 7}, "invalid_argument", "dtype is 7"),
                    ({"bytes": -1}, "invalid_argument", "bytes is -1"),
                    ({"bytes": "1K"}, "invalid_argument", "bytes is '1K'"),
                    ({"bytes": 1 << 64}, "invalid_argument", "whole number"),
                    ({"nodes": -1}, "invalid_argument", "nodes is -1"),
                    ({"nods": 1}, "invalid_argument", "nods is no part of a question; allowed are architecture, at_least"),
                    ({"nodes": 3}, "not_found", "nothing is stored"),
                    ({"generation": 8}, "not_found", "generation 8"),
                    ({"members": {"kinds": []}}, "invalid_argument", "kind_of_rank")]:
                with self.subTest(question=question), self.assertRaises(colltune.Error) as caught:
                    table.find(**{**QUESTION, **question})
                self.assertEqual(caught.exception.name, name)
                self.assertIn(part, caught.exception.message)
        with self.assertRaises(colltune.Error) as caught:
            table.find(**QUESTION)
        self.assertEqual(str(caught.exception), "failed_precondition: the table is closed")

    def test_a_wrong_or_missing_file_is_named(self):
        with colltune.open(path=self.path) as table:
            digest = table.digest
        plant("table", self.path, 8)
        with self.assertRaises(colltune.Error) as caught:
            colltune.open(path=self.path, digest=digest)
        self.assertEqual(caught.exception.code, 9)
        self.assertIn(digest, caught.exception.message)
        self.assertIn("generation 8", caught.exception.message)
        for arguments in [{"path": self.folder / "none"}, {"path": self.path, "generation": 7}, {}, {"path": "x", "server": "y"}]:
            with self.subTest(arguments), self.assertRaises(colltune.Error):
                colltune.open(**arguments)
        self.path.write_bytes(self.path.read_bytes()[:-1])
        with self.assertRaises(colltune.Error) as caught:
            colltune.open(path=self.path)
        self.assertEqual(caught.exception.name, "data_loss")

    def test_a_pickled_table_is_the_same_or_an_error(self):
        with colltune.open(path=self.path) as table:
            pickled = pickle.dumps(table)
            with pickle.loads(pickled) as again:
                self.assertEqual(again.digest, table.digest)
        plant("table", self.path, 8)
        with self.assertRaises(colltune.Error):
            pickle.loads(pickled)

    def test_threads(self):
        with colltune.open(path=self.path) as table:
            wrong = []

            def ask():
                for i in range(2000):
                    if table.find("all_reduce", "f32", 1024 if i % 2 else 4096, 1, 2).time_ns != (1007 if i % 2 else 9000):
                        wrong.append(i)

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_lookup_once_reads_a_file_too(self):
        self.assertEqual(colltune.lookup_once("all_reduce", "f32", 1024, path=self.path).variant, "cpu.one_shot{n=2}")


class LibraryTest(PlantedTest):
    def run_python(self, code, **environment):
        return subprocess.run([sys.executable, "-c", code, self.path], env={**os.environ, **environment}, capture_output=True,
                              text=True)

    def test_a_missing_library_is_an_error_that_names_the_variable(self):
        run = self.run_python("import colltune, sys\ncolltune.open(path=sys.argv[1])",
                              COLLTUNE_CLIENT_LIBRARY=str(self.folder))
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("set COLLTUNE_CLIENT_LIBRARY", run.stderr)

    def test_a_file_needs_neither_grpc_nor_threads(self):
        run = self.run_python("import colltune, os, sys\n"
                              "colltune.open(path=sys.argv[1]).find('all_reduce', 'f32', 1024)\n"
                              "maps = open('/proc/self/maps').read()\n"
                              "print(len(os.listdir('/proc/self/task')), 'grpc' in maps, 'protobuf' in maps)")
        self.assertEqual(run.stdout, "1 False False\n", run.stderr)

    def test_two_copies_in_one_process(self):
        copy = self.folder / "libcolltune_table.so.0"
        copy.write_bytes((Path(os.environ["COLLTUNE_CLIENT_LIBRARY"]) / "libcolltune_table.so.0").read_bytes())
        run = self.run_python("import colltune, os, sys\n"
                              "one = colltune.open(path=sys.argv[1])\n"
                              "for name in [name for name in sys.modules if name.startswith('colltune')]: del sys.modules[name]\n"
                              "os.environ['COLLTUNE_CLIENT_LIBRARY'] = os.path.dirname(sys.argv[1])\n"
                              "import colltune\n"
                              "two = colltune.open(path=sys.argv[1], digest=one.digest)\n"
                              "assert one._library.path != two._library.path and type(one) is not type(two)\n"
                              "print(one.find('all_reduce', 'f32', 1024).time_ns, two.find('all_reduce', 'f32', 1024).time_ns)")
        self.assertEqual(run.stdout, "1007 1007\n", run.stderr)

    def test_the_example_of_the_readme(self):
        text = Path(os.environ["COLLTUNE_README"]).read_text()
        example = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
        run = subprocess.run([sys.executable, "-c", example], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("cpu.one_shot{n=2}", run.stdout)


if __name__ == "__main__":
    unittest.main()
