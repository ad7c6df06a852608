-- A database of schema version 7, written by the program of that version: two inputs of one key, and two environments
-- that differ only in the patch level of the kernel and in the build (migration_keys_test.cpp).
PRAGMA application_id=1129608558;
PRAGMA user_version=7;
BEGIN;
CREATE TABLE meta (  -- colltune tuning database
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store_uuid TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  schema_digest TEXT NOT NULL,
  newest_generation INTEGER NOT NULL,
  generation_count INTEGER NOT NULL,
  highest_number INTEGER NOT NULL,
  environment_count INTEGER NOT NULL,
  sweep_count INTEGER NOT NULL, failure_count INTEGER NOT NULL DEFAULT 0, quarantine_count INTEGER NOT NULL DEFAULT 0, world_members_count INTEGER NOT NULL DEFAULT 0, composition_count INTEGER NOT NULL DEFAULT 0, row_checksum TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  state TEXT NOT NULL,
  configuration TEXT NOT NULL,
  environment_digest TEXT NOT NULL REFERENCES environment (digest),
  launch TEXT NOT NULL,
  seed INTEGER NOT NULL,
  planned_trials INTEGER NOT NULL,
  summary TEXT NOT NULL, purpose TEXT NOT NULL DEFAULT '', confirmation TEXT NOT NULL DEFAULT '', measurement_count INTEGER NOT NULL DEFAULT 0, journal_digest TEXT NOT NULL DEFAULT '', row_checksum TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE generation (
  id INTEGER PRIMARY KEY,
  published_at TEXT NOT NULL,
  content_digest TEXT NOT NULL,
  decision_count INTEGER NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE decision (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  family TEXT NOT NULL,
  reason TEXT NOT NULL,
  sweep_uuid TEXT NOT NULL, verdict TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT '', confirmation TEXT NOT NULL DEFAULT '', valid_from INTEGER NOT NULL DEFAULT 0, valid_to INTEGER, row_checksum TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX decision_by_key ON decision (key_id, family);
CREATE TABLE ranked_variant (
  id INTEGER PRIMARY KEY,
  decision_id INTEGER NOT NULL REFERENCES decision (id),
  position INTEGER NOT NULL,
  variant TEXT NOT NULL,
  family TEXT NOT NULL,
  protocol TEXT NOT NULL,
  is_baseline INTEGER NOT NULL,
  is_emulated INTEGER NOT NULL,
  median_ns INTEGER NOT NULL,
  low_ns INTEGER NOT NULL,
  high_ns INTEGER NOT NULL,
  speedup_over_baseline REAL NOT NULL,
  samples INTEGER NOT NULL,
  verified_calls INTEGER NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (decision_id, position)
) STRICT;
CREATE TABLE failure (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  sweep_uuid TEXT NOT NULL REFERENCES sweep (uuid),
  variant TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  failures INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  since TEXT NOT NULL,
  released_at TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX quarantine_in_force ON quarantine (key_id, variant) WHERE released_at = '';
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep (id),
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  family TEXT NOT NULL,
  protocol TEXT NOT NULL,
  is_baseline INTEGER NOT NULL,
  is_twin INTEGER NOT NULL,
  is_holdout INTEGER NOT NULL,
  is_emulated INTEGER NOT NULL,
  pass INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  samples_ns BLOB NOT NULL,
  slowest_ranks BLOB NOT NULL,
  marks BLOB NOT NULL,
  samples_per_round INTEGER NOT NULL,
  calls_per_sample INTEGER NOT NULL,
  ranks_ran INTEGER NOT NULL,
  ranks_failed INTEGER NOT NULL,
  verified_calls INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  input_mode TEXT NOT NULL,
  synchronization TEXT NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  conditions TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_id, key_id, variant, is_twin, pass)
) STRICT;
CREATE TABLE world_members (
  id INTEGER PRIMARY KEY,
  sweep_uuid TEXT NOT NULL REFERENCES sweep (uuid),
  topology_digest TEXT NOT NULL,
  members TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_uuid, topology_digest)
) STRICT;
CREATE TABLE composition (
  id INTEGER PRIMARY KEY,
  parts_name TEXT NOT NULL UNIQUE,
  composition TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE tuning_key (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  collective TEXT NOT NULL,
  data_type TEXT NOT NULL,
  reduce_op TEXT NOT NULL,
  message_size_bytes INTEGER NOT NULL,
  in_place INTEGER NOT NULL,
  registered INTEGER NOT NULL,
  graph_capture INTEGER NOT NULL,
  numeric_class TEXT NOT NULL,
  mesh TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  ranks_per_node INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  architectures TEXT NOT NULL,
  layout_digest TEXT NOT NULL,
  interconnect TEXT NOT NULL,
  placement TEXT NOT NULL,
  environment_digest TEXT NOT NULL REFERENCES environment (digest),
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  colltune_version TEXT NOT NULL,
  build TEXT NOT NULL,
  operating_system TEXT NOT NULL,
  kernel_release TEXT NOT NULL,
  cpu_model TEXT NOT NULL,
  cpu_features TEXT NOT NULL,
  cpu_layout TEXT NOT NULL,
  frequency_policy TEXT NOT NULL,
  hypervisor TEXT NOT NULL,
  malloc_settings TEXT NOT NULL,
  mpi_library TEXT NOT NULL,
  mpi_transport TEXT NOT NULL,
  mpi_binding TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_driver TEXT NOT NULL,
  cuda_version TEXT NOT NULL,
  nccl_version TEXT NOT NULL,
  fabric TEXT NOT NULL,
  variables TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
INSERT INTO meta VALUES (1, '6c0854d0-965a-4a19-a2e4-453642f52ac1', 7, 'f78ed3c5a2c82efe76d0a334c9b6664f', 4, 4, 4, 3, 5, 1, 3, 0, 0, '01d3cb735520a29bebe25996bba00494');
INSERT INTO environment VALUES (1, '06c2eb0660855024cfaa59a70228037d', 'value of colltune_version', 'value of build', 'value of operating_system', 'value of kernel_release', 'CPU one', 'value of cpu_features', 'value of cpu_layout', 'value of frequency_policy', 'value of hypervisor', 'value of malloc_settings', 'value of mpi_library', 'value of mpi_transport', 'value of mpi_binding', '', 'value of gpu_driver', 'value of cuda_version', 'value of nccl_version', 'value of fabric', '', '651aac1523226c217d7073f0bf5f904f');
INSERT INTO environment VALUES (2, '910f4f40afb95410e25ff8de77cde1a7', '0.1.0', 'gcc 0.1.0', 'Some Linux 0.1.0', '6.1.0-18-amd64 huge_pages=never', 'CPU three', 'value of cpu_features', 'value of cpu_layout', 'value of frequency_policy', 'value of hypervisor', 'value of malloc_settings', 'value of mpi_library', 'value of mpi_transport', 'value of mpi_binding', '', 'value of gpu_driver', 'value of cuda_version', 'value of nccl_version', 'value of fabric', '', 'd04b56a9a9851387f3d094401aa04393');
INSERT INTO environment VALUES (3, '7ae38dbf5c53742e32d57acf96e90ef7', '0.2.0', 'gcc 0.2.0', 'Some Linux 0.2.0', '6.1.0-21-amd64 huge_pages=never', 'CPU three', 'value of cpu_features', 'value of cpu_layout', 'value of frequency_policy', 'value of hypervisor', 'value of malloc_settings', 'value of mpi_library', 'value of mpi_transport', 'value of mpi_binding', '', 'value of gpu_driver', 'value of cuda_version', 'value of nccl_version', 'value of fabric', '', '8ce034e1d9272eafe09c267420f56b58');
INSERT INTO sweep VALUES (1, 'hot-first', '2026-01-02T03:04:05Z', '2026-01-02T04:00:00Z', 'complete', '{"version": 1, "input": "hot"}', '910f4f40afb95410e25ff8de77cde1a7', '8 ranks on 2 nodes', -9223372036854775807, 77, '{}', 'choose', '', 1, 'bb596920925b0185901e8d4040e56d6e', '9ce9668fdde7164d6c973f5e623eddff');
INSERT INTO sweep VALUES (2, 'plain-first', '2026-01-02T03:04:05Z', '2026-01-03T04:00:00Z', 'complete', '{"version": 1}', '910f4f40afb95410e25ff8de77cde1a7', '8 ranks on 2 nodes', -9223372036854775807, 77, '{}', 'choose', '', 1, '85860e2fb7dab5548a1242268383eaf7', '44e296e45bf38065e6101bdc041c48fd');
INSERT INTO sweep VALUES (3, 'plain-patched', '2026-01-02T03:04:05Z', '2026-01-04T04:00:00Z', 'complete', '{"version": 1}', '7ae38dbf5c53742e32d57acf96e90ef7', '8 ranks on 2 nodes', -9223372036854775807, 77, '{}', 'choose', '', 1, '83d3fc3b79bb71e5c1a088511dd01676', '5274da0f50fc411ee9615ae4ab0c17fc');
INSERT INTO sweep VALUES (4, 'hot-patched', '2026-01-02T03:04:05Z', '2026-01-05T04:00:00Z', 'complete', '{"version": 1, "input": "hot"}', '7ae38dbf5c53742e32d57acf96e90ef7', '8 ranks on 2 nodes', -9223372036854775807, 77, '{}', 'choose', '', 1, 'f432a1fb393297833fc868e3bdfa73c8', 'a2051d8a5e4b25ac3c028b34fd17fa1a');
INSERT INTO sweep VALUES (5, 'unfinished', '2026-01-02T03:04:05Z', '', 'running', '{"version": 1}', '7ae38dbf5c53742e32d57acf96e90ef7', '8 ranks on 2 nodes', -9223372036854775807, 77, '', 'choose', '', 1, '526289880a2248edbcc70b3d6e086e8b', 'fec8b9c3a661b7591ce2f625b3a7c214');
INSERT INTO tuning_key VALUES (1, 'de808a34b747976d78c11ba466c11ac8', 'collective', 'all_reduce', 'bf16', 'max', 1024, 1, 1, 0, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '910f4f40afb95410e25ff8de77cde1a7', '1b9a7065f1f6738baef7612bdf5ea89b');
INSERT INTO tuning_key VALUES (2, '92561f5e84abeedb8489418ec462d2eb', 'collective', 'all_reduce', 'bf16', 'max', 4096, 1, 1, 0, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '910f4f40afb95410e25ff8de77cde1a7', 'aceee63c4145bda043975ea37b3b7cd5');
INSERT INTO tuning_key VALUES (3, 'f6334179ae3429713609643d57164f1f', 'collective', 'all_reduce', 'bf16', 'max', 4096, 1, 1, 0, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '7ae38dbf5c53742e32d57acf96e90ef7', '4d659709d77b58e3c32776d9cfbe2e83');
INSERT INTO tuning_key VALUES (4, '856fdd8cf037b6f286268b1f0f432c54', 'collective', 'all_reduce', 'bf16', 'max', 1024, 1, 1, 0, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '7ae38dbf5c53742e32d57acf96e90ef7', 'fee383a347eeef1516ff11916e0e4028');
INSERT INTO tuning_key VALUES (5, 'af21db8d5284d23a7c1d5c8d9a3d927d', 'collective', 'all_reduce', 'bf16', 'max', 2048, 1, 1, 0, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '7ae38dbf5c53742e32d57acf96e90ef7', 'efe948a8bd3c2cd8ce3109717762a321');
INSERT INTO measurement VALUES (1, 1, 1, 'mpi.ring{segment=0,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 0, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cce2dc120ce2dc120ce2dc120c120ce2dc120ce2dc120c120ce2dc120ce2dc120ce2dc120c120', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'hot', 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '001c599c593c8329255e60d6c9b02de0');
INSERT INTO measurement VALUES (2, 2, 1, 'mpi.ring{segment=0,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 0, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cce2dc120ce2dc120ce2dc120c120ce2dc120ce2dc120c120ce2dc120ce2dc120ce2dc120c120', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'rewritten', 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '5906c47a8fa579ece5bea7343d240b40');
INSERT INTO measurement VALUES (3, 3, 4, 'mpi.ring{segment=2,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 2, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cda3ab513b513b513da3ab513b513b513da3ab513b513b513da3ab513b513b513da3ab513b513', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'rewritten', 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '09c7d3a27c244416477271e359fc3c66');
INSERT INTO measurement VALUES (4, 4, 4, 'mpi.ring{segment=0,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 0, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cce2dc120ce2dc120ce2dc120c120ce2dc120ce2dc120c120ce2dc120ce2dc120ce2dc120c120', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'hot', 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '16680a96b867917309e90a1ebc6c3cc3');
INSERT INTO measurement VALUES (5, 5, 5, 'mpi.ring{segment=5,way=up}', 'open_mpi', 'ring/1', 0, 0, 1, 1, 1, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0ca427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'rewritten', 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '6b49794a8067d03eb298809467ed8089');
INSERT INTO generation VALUES (1, '2026-01-02T04:00:01Z', '151a6d57e725bf75a44d3a5db9f73462', 1, 'b0c9c5c800dc7b40e5f0b152b1dc2b41');
INSERT INTO generation VALUES (2, '2026-01-04T04:00:01Z', '7163b98df0cf41ea4a4063efc7b74ac5', 2, '5f6e96e23411e8df1bf7895c1cc48072');
INSERT INTO generation VALUES (3, '2026-01-05T04:00:01Z', '3021a85d592e3236138a8e9b80e1b45a', 2, 'c723f4a10e4a211b6197a3c79f82c650');
INSERT INTO generation VALUES (4, '2026-01-06T04:00:01Z', '7163b98df0cf41ea4a4063efc7b74ac5', 2, 'faed55510d9b133568d6d6950bd023bc');
INSERT INTO decision VALUES (1, 1, 'open_mpi', 'beats the baseline by 10%', 'hot-first', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, '171c2bf94ad51c1eca06f6c3204994e1');
INSERT INTO decision VALUES (2, 4, 'open_mpi', 'beats the baseline by 10%', 'plain-patched', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 2, 3, 'e51b726e940bea74ebd3853ec33dc709');
INSERT INTO decision VALUES (3, 4, 'open_mpi', 'beats the baseline by 10%', 'hot-patched', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 3, 4, '7dcb5affdf9caf6d19f9466b999ef9c5');
INSERT INTO decision VALUES (4, 4, 'open_mpi', 'beats the baseline by 10%', 'plain-patched', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 4, NULL, '49fc4d52a30a06b5537a757bad0194fc');
INSERT INTO ranked_variant VALUES (1, 1, 0, 'mpi.one{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'cf37f201113c303f8ca0f5df19a5143b');
INSERT INTO ranked_variant VALUES (2, 1, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '2e7061bb43b662b5ae537caa27e8c335');
INSERT INTO ranked_variant VALUES (3, 2, 0, 'mpi.two{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '98b87a1b85379ae9d0b38bf20f1b474c');
INSERT INTO ranked_variant VALUES (4, 2, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '5a917ffdb1dec6a02008ccd8a532250c');
INSERT INTO ranked_variant VALUES (5, 3, 0, 'mpi.three{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'f8156fc18a7d1febc472322207183715');
INSERT INTO ranked_variant VALUES (6, 3, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'd6234edc48ce7fa22ec93b5ffcdc16ce');
INSERT INTO ranked_variant VALUES (7, 4, 0, 'mpi.two{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '73db92d801a0591ced632b722d40c063');
INSERT INTO ranked_variant VALUES (8, 4, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '5ced25ad2dccfd43993e955218cd5a62');
INSERT INTO failure VALUES (1, 2, 'hot-first', 'mpi.ring{segment=9,way=up}', 'timed_out', 'rank 1 on host a: signal 11, launch 9', '2026-01-02T03:30:00Z', '7162174b35aadcefd17171231d1149de');
INSERT INTO quarantine VALUES (1, 2, 'mpi.ring{segment=9,way=up}', 11, 'wrong', 'reason 9', '2026-01-02T03:40:00Z', '', 'd35b6d56a76a1783089120bfab31f49c');
INSERT INTO quarantine VALUES (2, 3, 'mpi.ring{segment=9,way=up}', 7, 'wrong', 'again', '2026-02-02T03:40:00Z', '', 'e8c0a8591f73d92132066f71ba64003a');
INSERT INTO quarantine VALUES (3, 1, 'mpi.ring{segment=1,way=up}', 3, 'wrong', 'reason 1', '2026-01-02T03:40:00Z', '', 'bfd9979bfb6e0768f013f50c0c8c06a0');
COMMIT;
