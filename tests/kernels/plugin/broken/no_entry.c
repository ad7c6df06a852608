/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object, but no plug-in. */
int colltune_test_not_an_entry(void);
int colltune_test_not_an_entry(void) { return 0; }
