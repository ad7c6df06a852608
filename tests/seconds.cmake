# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# What takes long begins first, so that no long test is left alone at the end: seconds of a run beside others on two cores, of
# the build in which it takes longest, of those that take more than ten. ctest learns them too, but not in a new clone.
set(COLLTUNE_SECONDS
  bad_input_matrix_test 45
  bad_input_test 28
  callables_hanging 12
  colltune_cli_test 87
  composed_sweep_test 15
  db_test 27
  device_sweep_test 60
  fresh_launches_test 19
  gpu_check_test 85
  groups_test 35
  hosts_test 75
  kernels_composed_random_calls_test 15
  kernels_conformance_mpi_test.np4 24
  kernels_conformance_threads_test 70
  kernels_device_implementation_test 41
  kernels_device_test 80
  kernels_grouped_test 40
  kernels_internals_test 10
  kernels_isa_leak_check 19
  kernels_isa_test 10
  kernels_mesh_test 48
  kernels_nccl_test 50
  kernels_random_calls_test 26
  kernels_test 60
  kernels_virtual_memory_test 16
  launch_environments_test 20
  launching_test 60
  lookup_server_test 30
  measure_test 46
  nccl_sweep_mpi_test.np4 11
  nccl_sweep_test 46
  nccl_two_processes_test 29
  open_mpi_component_test 59
  open_mpi_han_test 35
  open_mpi_recorder_test 12
  open_mpi_rules_test 25
  peers_test 15
  preload_test 38
  programs_test 17
  several_hosts_test 60
  srun_test 12
  supervise_mpirun_test 15
  supervise_test 30
  survival_test 100
  sweep_mpi_test.np4 14
  table_file_test 18
  traced_sweep_test 25
  trust_smoke 60
  unlike_ranks_sweep_test 34
  unlike_ranks_test 15)
