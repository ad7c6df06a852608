/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_BRIDGE_LAUNCH_SETTING_H
#define COLLTUNE_BRIDGE_LAUNCH_SETTING_H

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a setting of the component, COLLTUNE_TABLE say: of the variable of that name, else
   of OMPI_MCA_coll_colltune_table, which mpirun passes on to the ranks of all hosts by itself (as
   it does with `--mca coll_colltune_table FILE`). Null if neither is set. */
const char* colltune_launch_setting(const char* name);

#ifdef __cplusplus
}
#endif
#endif
