// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace colltune::library_models {

/// What NCCL 2.30.7 itself says of the worlds of several nodes, made as classic_goldens() were: of
/// each world, collective and size in bytes the times in us that it considers (src/enqueue.cc,
/// updateCollCostTable).
inline constexpr std::string_view network_goldens = R"(
rails all_reduce 8 Tree.LL 35.20079 Tree.LL128 65.50005 Tree.Simple 120.4 Ring.LL 78.80076 Ring.LL128 144.4 Ring.Simple 282.8 CollNetDirect.Simple 44.00004 CollNetChain.Simple 69.20005 NVLS.Simple 43.00004 NVLSTree.Simple 108.6
rails all_reduce 1024 Tree.LL 35.31155 Tree.LL128 65.50618 Tree.Simple 120.4064 Ring.LL 78.89725 Ring.LL128 144.4056 Ring.Simple 282.8052 CollNetDirect.Simple 44.00471 CollNetChain.Simple 69.2064 NVLS.Simple 43.00517 NVLSTree.Simple 108.6052
rails all_reduce 100000 Tree.LL 51.53987 Tree.LL128 66.50644 Tree.Simple 121.3435 Ring.LL 88.29755 Ring.LL128 144.9484 Ring.Simple 396.4246 CollNetDirect.Simple 44.45956 CollNetChain.Simple 69.825 NVLS.Simple 43.50456 NVLSTree.Simple 109.1046
rails all_reduce 1048576 Tree.LL 240.8031 Tree.LL128 76.0533 Tree.Simple 132.2725 Ring.LL 178.389 Ring.LL128 150.1507 Ring.Simple 401.2107 CollNetDirect.Simple 48.81882 CollNetChain.Simple 75.75359 NVLS.Simple 48.29066 NVLSTree.Simple 113.8907
rails all_reduce 1073741824 Tree.LL 105304 Tree.LL128 6549.448 Tree.Simple 6199.102 Ring.LL 102058 Ring.LL128 6033.142 Ring.Simple 5813.562 CollNetDirect.Simple 4978.475 CollNetChain.Simple 6780.086 NVLS.Simple 5460.643 NVLSTree.Simple 5526.243
rails all_gather 1024 Ring.LL 42.74862 Ring.LL128 79.2028 Ring.Simple 145.6026 CollNetDirect.Simple 44.00592 NVLS.Simple 43.00383
rails all_gather 33554432 Ring.LL 1636.124 Ring.LL128 171.2116 Ring.Simple 230.2507 CollNetDirect.Simple 238.1808 NVLS.Simple 168.32
rails reduce_scatter 1048576 Ring.LL 92.49451 Ring.LL128 82.07536 Ring.Simple 148.2453 CollNetDirect.Simple 50.06815 NVLS.Simple 46.91625
rails reduce_scatter 33554432 Ring.LL 1636.124 Ring.LL128 171.2116 Ring.Simple 230.2507 CollNetDirect.Simple 238.1808 NVLS.Simple 168.32
pair all_reduce 8 Tree.LL 25.20071 Tree.LL128 48.50003 Tree.Simple 92.40002 Ring.LL 68.00066 Ring.LL128 78.00002 Ring.Simple 204.4 NVLSTree.Simple 66.80002
pair all_reduce 1024 Tree.LL 25.30114 Tree.LL128 48.5033 Tree.Simple 92.40343 Ring.LL 68.08533 Ring.LL128 78.0029 Ring.Simple 204.4027 NVLSTree.Simple 66.80209
pair all_reduce 100000 Tree.LL 40.01482 Tree.LL128 49.03677 Tree.Simple 92.90322 Ring.LL 76.33334 Ring.LL128 78.28306 Ring.Simple 286.4204 NVLSTree.Simple 67.10602
pair all_reduce 1048576 Tree.LL 211.6135 Tree.LL128 54.12843 Tree.Simple 98.73198 Ring.LL 155.3813 Ring.LL128 80.96812 Ring.Simple 288.8907 NVLSTree.Simple 70.65053
pair all_reduce 1073741824 Tree.LL 95468.92 Tree.LL128 3506.606 Tree.Simple 3334.374 Ring.LL 89546.48 Ring.LL128 3117.35 Ring.Simple 3082.362 NVLSTree.Simple 2038.271
pair all_gather 1024 Ring.LL 37.34267 Ring.LL128 46.00145 Ring.Simple 106.4013
pair all_gather 33554432 Ring.LL 1435.401 Ring.LL128 93.48985 Ring.Simple 150.0907
pair reduce_scatter 1048576 Ring.LL 80.99066 Ring.LL128 47.48406 Ring.Simple 107.7653
pair reduce_scatter 33554432 Ring.LL 1435.401 Ring.LL128 93.48985 Ring.Simple 150.0907
grace all_reduce 8 Tree.LL 30.40079 Tree.LL128 55.50003 Tree.Simple 88.40003 Ring.LL 46.80074 Ring.LL128 83.60003 Ring.Simple 174 NVLSTree.Simple 108.6
grace all_reduce 1024 Tree.LL 30.51155 Tree.LL128 55.50426 Tree.Simple 88.4043 Ring.LL 46.89412 Ring.LL128 83.60362 Ring.Simple 174.0033 NVLSTree.Simple 108.6033
grace all_reduce 100000 Tree.LL 46.73987 Tree.LL128 56.19444 Tree.Simple 89.02903 Ring.LL 55.99118 Ring.LL128 83.95383 Ring.Simple 243.9255 NVLSTree.Simple 108.9255
grace all_reduce 1048576 Tree.LL 236.0031 Tree.LL128 62.78178 Tree.Simple 96.31498 Ring.LL 143.1765 Ring.LL128 87.31014 Ring.Simple 247.0133 NVLSTree.Simple 112.0133
grace all_reduce 1073741824 Tree.LL 105299.2 Tree.LL128 4529.424 Tree.Simple 4140.868 Ring.LL 98736.3 Ring.LL128 3882.789 Ring.Simple 3738.854 NVLSTree.Simple 3603.854
grace all_gather 1024 Ring.LL 26.74706 Ring.LL128 48.80181 Ring.Simple 91.20167
grace all_gather 33554432 Ring.LL 1568.724 Ring.LL128 108.1623 Ring.Simple 145.8133
grace reduce_scatter 1048576 Ring.LL 74.88824 Ring.LL128 50.65507 Ring.Simple 92.90667
grace reduce_scatter 33554432 Ring.LL 1568.724 Ring.LL128 108.1623 Ring.Simple 145.8133
sharp all_reduce 8 Tree.LL 54.20099 Tree.LL128 91.50015 Tree.Simple 166.4001 Ring.LL 289.4008 Ring.LL128 315.0001 Ring.Simple 918.4001 CollNetDirect.Simple 47.0001 CollNetChain.Simple 72.20007
sharp all_reduce 1024 Tree.LL 54.3409 Tree.LL128 91.5194 Tree.Simple 166.4202 Ring.LL 289.5061 Ring.LL128 315.0152 Ring.Simple 918.414 CollNetDirect.Simple 47.0128 CollNetChain.Simple 72.20853
sharp all_reduce 100000 Tree.LL 74.83984 Tree.LL128 94.65746 Tree.Simple 169.3601 Ring.LL 299.7618 Ring.LL128 316.4861 Ring.Simple 1287.127 CollNetDirect.Simple 48.25 CollNetChain.Simple 73.03333
sharp all_reduce 1048576 Tree.LL 313.9092 Tree.LL128 124.6084 Tree.Simple 203.6469 Ring.LL 398.0518 Ring.LL128 330.5826 Ring.Simple 1300.096 CollNetDirect.Simple 60.1072 CollNetChain.Simple 80.93813
sharp all_reduce 1073741824 Tree.LL 133025.3 Tree.LL128 20433.3 Tree.Simple 19236.84 Ring.LL 111548.8 Ring.LL128 16271.59 Ring.Simple 15965.82 CollNetDirect.Simple 13468.77 CollNetChain.Simple 9020.049
sharp all_gather 1024 Ring.LL 148.0531 Ring.LL128 164.5076 Ring.Simple 463.407
sharp all_gather 33554432 Ring.LL 1886.429 Ring.LL128 413.8217 Ring.Simple 692.776
sharp reduce_scatter 1048576 Ring.LL 202.3259 Ring.LL128 172.2913 Ring.Simple 470.568
sharp reduce_scatter 33554432 Ring.LL 1886.429 Ring.LL128 413.8217 Ring.Simple 692.776
heads all_reduce 8 Tree.LL 21.40071 Tree.LL128 39.50005 Tree.Simple 62.40005 Ring.LL 25.00062 Ring.LL128 45.80004 Ring.Simple 79.20004 CollNetDirect.Simple 41.80005 NVLS.Simple 44.00007 NVLSTree.Simple 68.80004
heads all_reduce 1024 Tree.LL 21.50114 Tree.LL128 39.50618 Tree.Simple 62.40644 Ring.LL 25.07965 Ring.LL128 45.80507 Ring.Simple 79.20467 CollNetDirect.Simple 41.80564 NVLS.Simple 44.00933 NVLSTree.Simple 68.80467
heads all_reduce 100000 Tree.LL 36.21481 Tree.LL128 40.50644 Tree.Simple 63.34354 Ring.LL 32.77778 Ring.LL128 46.29536 Ring.Simple 111.3357 CollNetDirect.Simple 42.35147 NVLS.Simple 44.91146 NVLSTree.Simple 69.25573
heads all_reduce 1048576 Tree.LL 207.8135 Tree.LL128 50.0533 Tree.Simple 74.27247 Ring.LL 106.5559 Ring.LL128 50.9942 Ring.Simple 115.6587 CollNetDirect.Simple 47.58259 NVLS.Simple 53.55733 NVLSTree.Simple 73.57867
heads all_reduce 1073741824 Tree.LL 95465.12 Tree.LL128 6523.448 Tree.Simple 6141.102 Ring.LL 83538.25 Ring.LL128 5364.663 Ring.Simple 5004.234 CollNetDirect.Simple 5963.17 NVLS.Simple 9830.708 NVLSTree.Simple 4962.154
heads all_gather 1024 Ring.LL 15.83982 Ring.LL128 29.90254 Ring.Simple 43.80234 CollNetDirect.Simple 41.81185 NVLS.Simple 44.00574
heads all_gather 33554432 Ring.LL 1320.695 Ring.LL128 113.0072 Ring.Simple 120.2587 CollNetDirect.Simple 430.1615 NVLS.Simple 231.98
heads reduce_scatter 1048576 Ring.LL 56.57795 Ring.LL128 32.4971 Ring.Simple 46.18933 CollNetDirect.Simple 53.93629 NVLS.Simple 49.87437
heads reduce_scatter 33554432 Ring.LL 1320.695 Ring.LL128 113.0072 Ring.Simple 120.2587 CollNetDirect.Simple 430.1615 NVLS.Simple 231.98
few all_reduce 8 Tree.LL 20.40079 Tree.LL128 38.50019 Tree.Simple 60.40018 Ring.LL 35.40071 Ring.LL128 64.20016 Ring.Simple 125.6002 CollNetDirect.Simple 40.80007 CollNetChain.Simple 46.80008 NVLS.Simple 43.00015 NVLSTree.Simple 66.80016
few all_reduce 1024 Tree.LL 20.51155 Tree.LL128 38.52473 Tree.Simple 60.42577 Ring.LL 35.49202 Ring.LL128 64.22125 Ring.Simple 125.6196 CollNetDirect.Simple 40.80941 CollNetChain.Simple 46.81067 NVLS.Simple 43.01955 NVLSTree.Simple 66.81956
few all_reduce 100000 Tree.LL 36.73987 Tree.LL128 42.52576 Tree.Simple 64.17416 Ring.LL 44.38692 Ring.LL128 66.27578 Ring.Simple 177.7497 CollNetDirect.Simple 41.71912 CollNetChain.Simple 47.84167 NVLS.Simple 44.90972 NVLSTree.Simple 68.70972
few all_reduce 1048576 Tree.LL 226.0031 Tree.LL128 80.7132 Tree.Simple 107.8899 Ring.LL 129.6348 Ring.LL128 85.96618 Ring.Simple 195.8649 CollNetDirect.Simple 50.43764 CollNetChain.Simple 57.72266 NVLS.Simple 63.02489 NVLSTree.Simple 86.82489
few all_reduce 1073741824 Tree.LL 105289.2 Tree.LL128 25974.29 Tree.Simple 24375.21 Ring.LL 96531.8 Ring.LL128 22352.77 Ring.Simple 20681.32 CollNetDirect.Simple 9909.75 CollNetChain.Simple 11231.61 NVLS.Simple 20548.48 NVLSTree.Simple 20572.29
few all_gather 1024 Ring.LL 21.04601 Ring.LL128 39.11063 Ring.Simple 67.00978
few all_gather 33554432 Ring.LL 1528.756 Ring.LL128 387.3589 Ring.Simple 387.3982
few reduce_scatter 1048576 Ring.LL 68.11739 Ring.LL128 49.98309 Ring.Simple 77.01244
few reduce_scatter 33554432 Ring.LL 1528.756 Ring.LL128 387.3589 Ring.Simple 387.3982
thin all_reduce 8 Tree.LL 26.80078 Tree.LL128 48.00019 Tree.Simple 64.40018 Ring.LL 36.60059 Ring.LL128 65.00014 Ring.Simple 92.40012
thin all_reduce 1024 Tree.LL 26.91155 Tree.LL128 48.02473 Tree.Simple 64.42577 Ring.LL 36.67529 Ring.LL128 65.0174 Ring.Simple 129.376
thin all_reduce 100000 Tree.LL 43.13987 Tree.LL128 52.02576 Tree.Simple 68.17416 Ring.LL 43.95294 Ring.LL128 66.69837 Ring.Simple 130.9225
thin all_reduce 1048576 Tree.LL 232.4031 Tree.LL128 90.2132 Tree.Simple 111.8899 Ring.LL 113.7012 Ring.LL128 82.80869 Ring.Simple 145.744
thin all_reduce 1073741824 Tree.LL 105295.6 Tree.LL128 25983.79 Tree.Simple 24379.21 Ring.LL 78988.2 Ring.LL128 18301.1 Ring.Simple 16906.58
thin all_gather 1024 Ring.LL 21.63765 Ring.LL128 39.5087 Ring.Simple 50.408 PAT.Simple 27.21422
thin all_gather 33554432 Ring.LL 1255.219 Ring.LL128 324.4391 Ring.Simple 312.544 PAT.Simple 493.2338
thin reduce_scatter 1048576 Ring.LL 60.15059 Ring.LL128 48.40435 Ring.Simple 58.592 PAT.Simple 41.76356
thin reduce_scatter 33554432 Ring.LL 1255.219 Ring.LL128 324.4391 Ring.Simple 312.544 PAT.Simple 493.2338
slim all_reduce 8 Tree.LL 32.80138 Tree.LL128 54.00039 Tree.Simple 76.40036 Ring.LL 71.6007 Ring.LL128 114.0003 Ring.Simple 178.4003 CollNetDirect.Simple 17.00013 CollNetChain.Simple 17.0002
slim all_reduce 1024 Tree.LL 32.99581 Tree.LL128 54.04947 Tree.Simple 76.45153 Ring.LL 71.68982 Ring.LL128 114.0387 Ring.Simple 178.4355 CollNetDirect.Simple 17.016 CollNetChain.Simple 17.0256
slim all_reduce 100000 Tree.LL 61.48357 Tree.LL128 62.05153 Tree.Simple 83.94831 Ring.LL 80.37193 Ring.LL128 117.7742 Ring.Simple 253.2322 CollNetDirect.Simple 18.5625 CollNetChain.Simple 19.5
slim all_reduce 1048576 Tree.LL 393.7229 Tree.LL128 138.4264 Tree.Simple 171.3797 Ring.LL 163.5804 Ring.LL128 153.5749 Ring.Simple 286.1689 CollNetDirect.Simple 33.384 CollNetChain.Simple 43.2144
slim all_reduce 1073741824 Tree.LL 184825.3 Tree.LL128 51925.59 Tree.Simple 48706.01 Ring.LL 94259.48 Ring.LL128 40638.68 Ring.Simple 37532.46 CollNetDirect.Simple 16794.22 CollNetChain.Simple 26860.54
slim all_gather 1024 Ring.LL 39.14491 Ring.LL128 64.01933 Ring.Simple 93.41778 CollNetDirect.Simple 17.09481 PAT.Simple 34.54273
slim all_gather 33554432 Ring.LL 1510.786 Ring.LL128 697.1981 Ring.Simple 675.9422 CollNetDirect.Simple 3123.892 PAT.Simple 966.5818
slim reduce_scatter 1048576 Ring.LL 85.09017 Ring.LL128 83.78744 Ring.Simple 111.6044 CollNetDirect.Simple 114.0904 PAT.Simple 63.6414
slim reduce_scatter 33554432 Ring.LL 1510.786 Ring.LL128 697.1981 Ring.Simple 675.9422 CollNetDirect.Simple 3123.892 PAT.Simple 966.5818
)";

}  // namespace colltune::library_models
