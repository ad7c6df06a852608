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

int colltune_tell(char* key, const char* text) {
  int rc = OPAL_SUCCESS;
  OPAL_MODEX_SEND_STRING(rc, OPAL_PMIX_GLOBAL, key, text, strlen(text) + 1);
  return rc;
}

bool colltune_all_told(struct ompi_communicator_t* comm, char* key, const char* text) {
  const int ranks = ompi_comm_size(comm);
  for (int rank = 0; rank < ranks; ++rank) {
    ompi_proc_t* const proc = ompi_comm_peer_lookup(comm, rank);
    char* theirs = NULL;
    size_t bytes = 0;
    /* A job that was spawned says nothing of itself here. */
    int rc = OPAL_ERR_NOT_FOUND;
    if (proc->super.proc_name.jobid == OMPI_PROC_MY_NAME->jobid)
      OPAL_MODEX_RECV_STRING(rc, key, &proc->super.proc_name, (uint8_t**)&theirs, &bytes);
    const bool is_same = OPAL_SUCCESS == rc && NULL != theirs && bytes == strlen(text) + 1 &&
                         0 == memcmp(text, theirs, bytes);
    if (OPAL_SUCCESS == rc) free(theirs);
    if (!is_same) return false;
  }
  return true;
}
