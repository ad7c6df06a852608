/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */

#include "ompi_config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"
#include "ompi/proc/proc.h"
#include "opal/mca/pmix/pmix.h"
#include "peers.h"

enum { unknown = 0, same = 1, other = 2 };

int colltune_tell(char* key, const char* text) {
  int rc = OPAL_SUCCESS;
  OPAL_MODEX_SEND_STRING(rc, OPAL_PMIX_GLOBAL, key, text, strlen(text) + 1);
  return rc;
}

struct colltune_alike colltune_none_is_known(void) {
  struct colltune_alike alike = {.ranks = ompi_process_info.num_procs, .found = NULL};
  alike.found = calloc(alike.ranks, sizeof *alike.found);
  if (NULL == alike.found) alike.ranks = 0;
  return alike;
}

void colltune_forget_alike(struct colltune_alike* alike) {
  free(alike->found);
  *alike = (struct colltune_alike){.ranks = 0, .found = NULL};
}

static bool has_told(const opal_process_name_t* name, char* key, const char* text) {
  char* theirs = NULL;
  size_t bytes = 0;
  int rc = OPAL_SUCCESS;
  OPAL_MODEX_RECV_STRING(rc, key, name, (uint8_t**)&theirs, &bytes);
  const bool is_same = OPAL_SUCCESS == rc && NULL != theirs && bytes == strlen(text) + 1 &&
                       0 == memcmp(text, theirs, bytes);
  if (OPAL_SUCCESS == rc) free(theirs);
  return is_same;
}

bool colltune_all_told(struct ompi_communicator_t* comm, char* key, const char* text,
                       struct colltune_alike* alike) {
  const int ranks = ompi_comm_size(comm);
  for (int rank = 0; rank < ranks; ++rank) {
    const opal_process_name_t* const name = &ompi_comm_peer_lookup(comm, rank)->super.proc_name;
    /* A job that was spawned says nothing of itself here. */
    if (name->jobid != OMPI_PROC_MY_NAME->jobid) return false;
    _Atomic unsigned char* const kept =
        NULL != alike && name->vpid < alike->ranks ? &alike->found[name->vpid] : NULL;
    unsigned char found = NULL == kept ? unknown : atomic_load_explicit(kept, memory_order_relaxed);
    if (unknown == found) {
      found = has_told(name, key, text) ? same : other;
      if (NULL != kept) atomic_store_explicit(kept, found, memory_order_relaxed);
    }
    if (same != found) return false;
  }
  return true;
}
