// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
