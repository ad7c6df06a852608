-- A database of schema version 8, written by the program of that version (the samples of samples.cpp).
PRAGMA application_id=1129608558;
PRAGMA user_version=8;
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
  summary TEXT NOT NULL, purpose TEXT NOT NULL DEFAULT '', confirmation TEXT NOT NULL DEFAULT '', provenance TEXT NOT NULL DEFAULT '', measurement_count INTEGER NOT NULL DEFAULT 0, journal_digest TEXT NOT NULL DEFAULT '', row_checksum TEXT NOT NULL DEFAULT '') STRICT;
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
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kernel TEXT NOT NULL,
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
  limits TEXT NOT NULL,
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
  calling TEXT NOT NULL,
  input TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
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
  synchronization TEXT NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  conditions TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_id, key_id, variant, is_twin, pass)
) STRICT;
INSERT INTO meta VALUES (1, '594d6367-2ea9-4cdc-bc32-d7046d3b9e6c', 8, 'e616b89fc1dc9b43e8d07ff0805b91f5', 2, 2, 2, 2, 1, 3, 2, 1, 1, 'bae16488a38e4c4370d3b84d79c2e1a3');
INSERT INTO environment VALUES (1, 'abf5701d3811312eb3d6404e77ed9159', 'value of kernel_release', 'CPU one', 'value of cpu_features', 'value of cpu_layout', 'value of frequency_policy', 'value of hypervisor', 'value of malloc_settings', 'value of mpi_library', 'value of mpi_transport', 'value of mpi_binding', '', 'value of gpu_driver', 'value of cuda_version', 'value of nccl_version', 'value of fabric', '', '', 'f7a88c27b413b90fcf55d6b9c28c7bd1');
INSERT INTO environment VALUES (2, '77fa1ebc647c7f1fd2071a4e1e6ac813', 'value of kernel_release', 'CPU two', 'value of cpu_features', 'value of cpu_layout', 'value of frequency_policy', 'value of hypervisor', 'value of malloc_settings', 'value of mpi_library', 'value of mpi_transport', 'value of mpi_binding', '', 'value of gpu_driver', 'value of cuda_version', 'value of nccl_version', 'value of fabric', '', '', '999cae029be6ffaa0ca0fa71bd4c710c');
INSERT INTO sweep VALUES (1, 'sweep-1', '2026-01-02T03:04:05Z', '2026-01-02T04:00:00Z', 'complete', '{"version": 1}', 'abf5701d3811312eb3d6404e77ed9159', '8 ranks on 2 nodes', -9223372036854775807, 77, '{}', 'choose', '', '{"build":"value of build","colltune_version":"value of colltune_version","kernel_release":"value","operating_system":"value of operating_system"}', 12, '9590fd6b5426f311f6c8fe6c18a28bfe', '304e6f79c3de261734737ce9f2a46f2c');
INSERT INTO tuning_key VALUES (1, 'eb5ebde04881d27db239a964a329103e', 'collective', 'all_reduce', 'bf16', 'max', 1024, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '22d11386ff54a786926f94212eaf7234');
INSERT INTO tuning_key VALUES (2, 'fcdb976640b0429948946f7b6282da8a', 'collective', 'all_reduce', 'bf16', 'max', 1024, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '77fa1ebc647c7f1fd2071a4e1e6ac813', 'persistent', 'hot', '7c4f4a064a61f04d03773d26da00f329');
INSERT INTO tuning_key VALUES (3, '1f8ef871c533451c08b22d6edf0f3bc9', 'collective', 'all_reduce', 'bf16', 'max', 2048, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '77fa1ebc647c7f1fd2071a4e1e6ac813', 'persistent', 'hot', '5e8926cec552b60cc98a0c751b9863cd');
INSERT INTO tuning_key VALUES (4, '5ddaea9b9f03e9a5ed4ef46a378fc8da', 'collective', 'all_reduce', 'bf16', 'max', 2048, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '627749e5e944439f1eb65a8934fc84c1');
INSERT INTO tuning_key VALUES (5, '000e516bc638dbda058c50885b587322', 'collective', 'all_reduce', 'bf16', 'max', 3072, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', 'ed719acd6154606dc73d78d2f23ced13');
INSERT INTO tuning_key VALUES (6, '004e67a53a18000b65d023762316051a', 'collective', 'all_reduce', 'bf16', 'max', 3072, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '77fa1ebc647c7f1fd2071a4e1e6ac813', 'persistent', 'hot', '8ed873e90f7a83c94df50932a9779e38');
INSERT INTO tuning_key VALUES (7, '963b6e158fe465824861b6a7e46b7983', 'collective', 'all_reduce', 'bf16', 'max', 4096, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', '77fa1ebc647c7f1fd2071a4e1e6ac813', 'persistent', 'hot', '0cce4dc0b7021df685037c636c1dcd23');
INSERT INTO tuning_key VALUES (8, 'fa37a8a6885aba90be62672c491981b0', 'collective', 'all_reduce', 'bf16', 'max', 4096, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '469a5f46c0678567bbdee5aea3994cbb');
INSERT INTO tuning_key VALUES (9, '9e1d899b081575b4c5e9e9827275ba69', 'collective', 'all_reduce', 'bf16', 'max', 7168, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '8198c8230324b671e2d3a52595f3fa7c');
INSERT INTO tuning_key VALUES (10, 'c4ca5aa9a598ad9712e22de4c1fece82', 'collective', 'all_reduce', 'bf16', 'max', 8192, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '5deec77f38d56fb34eb19eccccbf3753');
INSERT INTO tuning_key VALUES (11, 'edd9d74e5d0adfe8aff544ccd916e142', 'collective', 'all_reduce', 'bf16', 'max', 16384, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', 'cfcea5f994e84600a79e5ebfbeb0c64a');
INSERT INTO tuning_key VALUES (12, '62355359056b4f69dd96a685cbbe36d0', 'collective', 'all_reduce', 'bf16', 'max', 32768, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '8df1e8ded73a490cc3e28a0aa660041f');
INSERT INTO tuning_key VALUES (13, 'e36ba17a6a634a7c35d6d71ccf310269', 'collective', 'all_reduce', 'bf16', 'max', 65536, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', 'f1f0432b3ebee254ae4c7e3929009f9f');
INSERT INTO tuning_key VALUES (14, '17d235128bac1afc13342e9764434ec4', 'collective', 'all_reduce', 'bf16', 'max', 131072, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '1b81434b2cce91423d9ef84cf4efbd70');
INSERT INTO tuning_key VALUES (15, '18679adf9db5551a9cc777a06ea13775', 'collective', 'all_reduce', 'bf16', 'max', 262144, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', 'cb9c98e840b6d81c9067458124ccd2a7');
INSERT INTO tuning_key VALUES (16, 'b931d786f316a22cbb93218385f18dce', 'collective', 'all_reduce', 'bf16', 'max', 524288, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', '82fb09e00d388c68af3f5323d5a87d73');
INSERT INTO tuning_key VALUES (17, '38a9af703cb75796c6e273cd190a24af', 'collective', 'all_reduce', 'bf16', 'max', 1048576, 1, 1, 1, 'rank_order', '', 2, 4, 8, '[{"architecture":"sm_80","ranks":4},{"architecture":"sm_90","ranks":4}]', '0123456789abcdef', 'tcp', 'oversubscribed', 'abf5701d3811312eb3d6404e77ed9159', 'persistent', 'hot', 'bb9cfe7c348deeb289dbbf041ad5ae27');
INSERT INTO measurement VALUES (1, 1, 1, 'mpi.ring{segment=0,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 0, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cce2dc120ce2dc120ce2dc120c120ce2dc120ce2dc120c120ce2dc120ce2dc120ce2dc120c120', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', 'a8985ce335b1c22d336457a51576f946');
INSERT INTO measurement VALUES (2, 1, 2, 'mpi.ring{segment=1,way=up}', 'open_mpi', 'ring/1', 0, 1, 1, 1, 1, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0c8c0d8c0d8c0d8c0d8c0d83418c0d8c0d8c0d8c0d8c0d83418c0d8c0d8c0d8c0d8c0d83418c0d', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '66796e2e69f8dd55161d97b63131dcdf');
INSERT INTO measurement VALUES (3, 1, 1, 'mpi.ring{segment=2,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 2, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cda3ab513b513b513da3ab513b513b513da3ab513b513b513da3ab513b513b513da3ab513b513', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '30a1973156303a63b45474eb8436d75a');
INSERT INTO measurement VALUES (4, 1, 3, 'mpi.ring{segment=3,way=up}', 'open_mpi', 'ring/1', 0, 0, 1, 1, 3, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0c981a981af733981a981af733981a981af733981a981af733981a981af733981a981af733981a', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', 'ed9a26d1eef0b2f8252bc2797d493719');
INSERT INTO measurement VALUES (5, 1, 4, 'mpi.ring{segment=4,way=up}', 'open_mpi', 'ring/1', 1, 1, 1, 1, 0, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0ce647a906a906a906a906a906a906a906a906a906a906a906e647a906a906a906a906a906a906', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '1330e60687ae41773a3dd3fe35be12bc');
INSERT INTO measurement VALUES (6, 1, 3, 'mpi.ring{segment=5,way=up}', 'open_mpi', 'ring/1', 0, 0, 1, 1, 1, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0ca427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427eb26a427', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', 'ca814c317e39f3722fe87d1af08324eb');
INSERT INTO measurement VALUES (7, 1, 5, 'mpi.ring{segment=6,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 2, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0ce206e206e206e206e206e206e206e206e206e206e206ad47e206e206e206e206e206e206e206', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', 'e8e11250d94719ef32c035f1b9fef27e');
INSERT INTO measurement VALUES (8, 1, 6, 'mpi.ring{segment=7,way=up}', 'open_mpi', 'ring/1', 0, 1, 1, 1, 3, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cb034df19df19b034df19df19b034df19df19b034df19df19b034df19df19b034df19df19b034', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', 'b08383036b81b0f6ba352605516f3973');
INSERT INTO measurement VALUES (9, 1, 5, 'mpi.ring{segment=8,way=up}', 'open_mpi', 'ring/1', 1, 0, 1, 1, 0, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cee13ee13ee13a13aee13ee13ee13a13aee13ee13ee13a13aee13ee13ee13a13aee13ee13ee13', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', 'a3d1a4940a43a728a13f4e67e294e5dd');
INSERT INTO measurement VALUES (10, 1, 7, 'mpi.ring{segment=9,way=up}', 'open_mpi', 'ring/1', 0, 0, 1, 1, 1, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cbc41d30cd30cd30cd30cd30cbc41d30cd30cd30cd30cd30cbc41d30cd30cd30cd30cd30cbc41', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '0f1bba46b6f68e24a3a157940541ad2c');
INSERT INTO measurement VALUES (11, 1, 8, 'mpi.ring{segment=10,way=up}', 'open_mpi', 'ring/1', 1, 1, 1, 1, 2, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0cfa20fa20952dfa20952dfa20fa20952dfa20952dfa20952dfa20fa20952dfa20952dfa20952d', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '16f5b0ca777f703092a21398e4ebce78');
INSERT INTO measurement VALUES (12, 1, 7, 'mpi.ring{segment=11,way=up}', 'open_mpi', 'ring/1', 0, 0, 1, 1, 3, 'timed_out', CAST(X'61202271756f746564222064657461696c2c200020696e636c756465643b20c3' AS TEXT), X'0114c09a0c38383838383838383838383838383838383838', X'011400020202020202020d020202020202020d020202', X'0114000202020202020b0202020202020b0202020202', 3, 7, 8, 1, 99, -81985529216486896, 'window', 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":["f32","bf16"],"max_message_bytes":1073741824,"max_ranks":64,"min_message_bytes":8,"min_ranks":2,"ranks_multiple_of":2,"reduce_ops":["sum"]}', '{"clock_error_ns":321,"device_share":0.875,"hand_over_ns":47,"involuntary_switches":3,"kept_waiting":0.0625,"longest_gap_ns":12345,"lowest_frequency_khz":2000000,"page_faults":4,"steal":0.125,"throttle_events":5}', '2d7772018bccaa8ac518c66deb0ebbe3');
INSERT INTO generation VALUES (1, '2026-01-02T04:00:01Z', 'e349bd80a91fa41ef6ffd3706c68a452', 11, 'c456215e804186f9a27509f176549832');
INSERT INTO generation VALUES (2, '2026-01-02T04:00:02Z', 'b74e9bb0008ad5249c973f259d769fc7', 12, 'd6bfaa2a338e992800ca21b88ce3e9ae');
INSERT INTO decision VALUES (1, 1, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, '9c88b2e140fd8996caf4b59fb255eb35');
INSERT INTO decision VALUES (2, 4, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, 2, 'ff8c2fbb9f5b773d762448cb1de76ec2');
INSERT INTO decision VALUES (3, 8, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, '48e9c25d6719f112fc0ff06f23c6d08e');
INSERT INTO decision VALUES (4, 10, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, '7f6999f3fee558f0653c72034073ce83');
INSERT INTO decision VALUES (5, 11, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, 'fddbebb2396fb18ac16210cf9b289d2b');
INSERT INTO decision VALUES (6, 12, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, '18a350350832f91f805295d24ecece1a');
INSERT INTO decision VALUES (7, 13, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, 'f66d661ac616055486348e29dd3915ea');
INSERT INTO decision VALUES (8, 14, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, 'ce453d64933a3105967840243f758952');
INSERT INTO decision VALUES (9, 15, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, '0b0b8f6fafa939de5f26e63f1f3f9a98');
INSERT INTO decision VALUES (10, 16, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, 'f74fe9dcc15449edc3eaecb511cbeb11');
INSERT INTO decision VALUES (11, 17, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 1, NULL, 'dbd6d4fb9dbbd2e53fb02f031440e533');
INSERT INTO decision VALUES (12, 4, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 2, NULL, '8749437f5d13a27ef027f06f7c7cd30b');
INSERT INTO decision VALUES (13, 3, 'open_mpi', 'beats the baseline by 10%', 'sweep-1', 'displaced', 'confirmed', '{"high":1.11,"launches":5,"low":1.05,"speedup":1.09}', 2, NULL, '72dae9d578df05324c45fc1b19b8ea55');
INSERT INTO ranked_variant VALUES (1, 1, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'e3804ec6e8da859625e2a3220ac8d2e0');
INSERT INTO ranked_variant VALUES (2, 1, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '2e7061bb43b662b5ae537caa27e8c335');
INSERT INTO ranked_variant VALUES (3, 2, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '46d4307991d1c3807b34dd2f67945574');
INSERT INTO ranked_variant VALUES (4, 2, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '5a917ffdb1dec6a02008ccd8a532250c');
INSERT INTO ranked_variant VALUES (5, 3, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '2d94a58f6d4325310aab4748479c1e75');
INSERT INTO ranked_variant VALUES (6, 3, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'd6234edc48ce7fa22ec93b5ffcdc16ce');
INSERT INTO ranked_variant VALUES (7, 4, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '5d7106e52208d8b68450bf9452370acc');
INSERT INTO ranked_variant VALUES (8, 4, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '5ced25ad2dccfd43993e955218cd5a62');
INSERT INTO ranked_variant VALUES (9, 5, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'd4f98bb4a0c89ff8df6abe6e73a76664');
INSERT INTO ranked_variant VALUES (10, 5, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'c1b7786eea4c291accb3411e386ac7b9');
INSERT INTO ranked_variant VALUES (11, 6, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '4bca9183f01030512fede93318d70812');
INSERT INTO ranked_variant VALUES (12, 6, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'bfef6dcd13f5dc6a8264791c446470aa');
INSERT INTO ranked_variant VALUES (13, 7, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'e5403d80d28ecda317c1fb5b353fb314');
INSERT INTO ranked_variant VALUES (14, 7, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '42fb01d2788120a602a7441c577951d9');
INSERT INTO ranked_variant VALUES (15, 8, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '998e3d62c9ebbc3ada3990eff5ef613e');
INSERT INTO ranked_variant VALUES (16, 8, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '5f384f11a20e6f4772a7fd292a936e3c');
INSERT INTO ranked_variant VALUES (17, 9, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '9bb4b64e8c39067256adfdfa6f4b8b7f');
INSERT INTO ranked_variant VALUES (18, 9, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '8d7b9b14bc83853fc2e147d213f4bb95');
INSERT INTO ranked_variant VALUES (19, 10, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'ed5f8f31ed6b7f115148f650f8e0b557');
INSERT INTO ranked_variant VALUES (20, 10, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '64d94dd3e6a6ab4002d92dd668528827');
INSERT INTO ranked_variant VALUES (21, 11, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '35982aecd141c0d37d511fad36712b82');
INSERT INTO ranked_variant VALUES (22, 11, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '7640c8eb88798a48411c80a3114a35e5');
INSERT INTO ranked_variant VALUES (23, 12, 0, 'cpu.two_shot{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'aac15586dfab85d7ca784fd38f1b8f14');
INSERT INTO ranked_variant VALUES (24, 12, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', '7f58395214751c39f758dadbbb4da2f9');
INSERT INTO ranked_variant VALUES (25, 13, 0, 'mpi.ring{segment=8192}', 'open_mpi', 'ring/1', 0, 1, 1234, 1200, 1300, 1.1, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'ca1d087c18d5f685bec4024f3667f728');
INSERT INTO ranked_variant VALUES (26, 13, 1, 'mpi.baseline', 'open_mpi', 'ring/1', 1, 1, 1357, 1200, 1300, 1.0, 40, 80, 'each_step', 'same_bits', '{"alignment_bytes":64,"data_types":[],"max_message_bytes":0,"max_ranks":0,"min_message_bytes":0,"min_ranks":2,"ranks_multiple_of":1,"reduce_ops":[]}', 'cca8bfa1db620aaab306a33d0a41257c');
INSERT INTO failure VALUES (1, 9, 'sweep-1', 'mpi.ring{segment=20,way=up}', 'crashed', 'rank 1 on host a: signal 11, launch 20', '2026-01-02T03:30:00Z', '8b7b11134a21f4a9ceb58048b252be04');
INSERT INTO failure VALUES (2, 9, 'sweep-1', 'mpi.ring{segment=20,way=up}', 'crashed', 'rank 1 on host a: signal 11, launch 20', '2026-01-02T03:30:00Z', '2207c08b0ef660bac39698af80065243');
INSERT INTO failure VALUES (3, 10, 'sweep-1', 'mpi.ring{segment=21,way=up}', 'timed_out', 'rank 1 on host a: signal 11, launch 21', '2026-01-02T03:30:00Z', 'ed554494d3e36a99be3afb105bb4b9a2');
INSERT INTO quarantine VALUES (1, 9, 'mpi.ring{segment=20,way=up}', 22, 'wrong', 'reason 20', '2026-01-02T03:40:00Z', '2026-01-02T03:50:00Z', 'd4312a5be84dff754448ab3be65844c2');
INSERT INTO quarantine VALUES (2, 10, 'mpi.ring{segment=21,way=up}', 23, 'wrong', 'reason 21', '2026-01-02T03:40:00Z', '', '969f70325840788df94b403288d2c113');
INSERT INTO world_members VALUES (1, 'sweep-1', 'e92013b22e3fdec6028857da9f899ab3', '{"kind_of_rank":[0,0,0,0,1,1,1,1],"kinds":[{"architecture":"sm_80","features":["memory.bytes=8"]},{"architecture":"sm_90","features":["cuda.cc=9.0","multicast"]}]}', '050c188d4674f6828e94e8db9d9a280f');
INSERT INTO composition VALUES (1, 'pacf7a5bb02609aab', '{"mode":"substituted","parts":[{"kinds":["bb6f31597074d8495afe6a1bc3416531"],"role":"whole","variant":"cpu.ring{chunk=4096,way=up}"},{"kinds":["8dcfd1bc31d8171ad874e4e4e1eeaa6f"],"role":"whole","variant":"gpu.ring{chunk=4096}"}]}', '492df561d8711cba87a107a9a462463b');
COMMIT;
