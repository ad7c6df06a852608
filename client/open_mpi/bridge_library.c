/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* libcolltune_bridge.so: what the component loads at the first set-up. */

#include "bridge/functions.h"

extern const struct colltune_functions COLLTUNE_FUNCTIONS;
__attribute__((visibility("default"))) const struct colltune_functions COLLTUNE_FUNCTIONS = {
    .open = colltune_open,
    .close = colltune_close,
    .fingerprint = colltune_fingerprint,
    .own_look = colltune_own_look,
    .say = colltune_say,
    .set_up = colltune_set_up,
    .tear_down = colltune_tear_down,
    .is_used = colltune_is_used,
    .is_used_unequal = colltune_is_used_unequal,
};
