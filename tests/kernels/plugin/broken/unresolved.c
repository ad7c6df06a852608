/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in whose library is missing: it cannot be linked. */
#include "colltune/plugin.h"

int colltune_test_symbol_of_nobody(void);

const colltune_plugin* colltune_plugin_entry(uint32_t host_abi_version) {
  (void)host_abi_version;
  (void)colltune_test_symbol_of_nobody();
  return NULL;
}
