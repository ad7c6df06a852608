/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge as a library that is loaded late: its functions by the names of bridge.h. */
#ifndef COLLTUNE_BRIDGE_FUNCTIONS_H
#define COLLTUNE_BRIDGE_FUNCTIONS_H

#include "bridge.h"

struct colltune_functions {
  __typeof__(colltune_open)* open;
  __typeof__(colltune_close)* close;
  __typeof__(colltune_fingerprint)* fingerprint;
  __typeof__(colltune_own_look)* own_look;
  __typeof__(colltune_say)* say;
  __typeof__(colltune_set_up)* set_up;
  __typeof__(colltune_tear_down)* tear_down;
  __typeof__(colltune_is_used)* is_used;
  __typeof__(colltune_is_used_unequal)* is_used_unequal;
};

/* The library's only name: a const struct colltune_functions. */
#define COLLTUNE_FUNCTIONS colltune_functions_of_bridge

#endif
