// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The program for whose sake the headers of tests are precompiled; it does nothing.
int main() { return 0; }
