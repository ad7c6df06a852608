/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */

#include "launch_setting.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char* colltune_launch_setting(const char* name) {
  static const char prefix[] = "COLLTUNE_";
  static const char parameter_prefix[] = "OMPI_MCA_coll_colltune_";
  const char* const own = getenv(name);
  if (NULL != own || 0 != strncmp(name, prefix, sizeof prefix - 1)) return own;
  char parameter[128];
  const char* const rest = name + sizeof prefix - 1;
  if (strlen(rest) + sizeof parameter_prefix > sizeof parameter) return NULL;
  char* at = strcpy(parameter, parameter_prefix) + sizeof parameter_prefix - 1;
  for (const char* from = rest; '\0' != *from; ++from) *at++ = (char)tolower((unsigned char)*from);
  *at = '\0';
  return getenv(parameter);
}
