// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace colltune::library_models {

/// What NCCL 2.30.7 itself says of the worlds of several nodes, made as classic_goldens() were: of
/// each world, collective and size in bytes the times in us that it considers (src/enqueue.cc,
/// updateCollCostTable).
inline constexpr std::string_view network_goldens = R"(
rails all_reduce 8 tree.ll 35.20079 tree.ll128 65.50005 tree.simple 120.4 ring.ll 78.80076 ring.ll128 144.4 ring.simple 282.8 collnetdirect.simple 44.00004 collnetchain.simple 69.20005 nvls.simple 43.00004 nvlstree.simple 108.6
rails all_reduce 1024 tree.ll 35.31155 tree.ll128 65.50618 tree.simple 120.4064 ring.ll 78.89725 ring.ll128 144.4056 ring.simple 282.8052 collnetdirect.simple 44.00471 collnetchain.simple 69.2064 nvls.simple 43.00517 nvlstree.simple 108.6052
rails all_reduce 100000 tree.ll 51.53987 tree.ll128 66.50644 tree.simple 121.3435 ring.ll 88.29755 ring.ll128 144.9484 ring.simple 396.4246 collnetdirect.simple 44.45956 collnetchain.simple 69.825 nvls.simple 43.50456 nvlstree.simple 109.1046
rails all_reduce 1048576 tree.ll 240.8031 tree.ll128 76.0533 tree.simple 132.2725 ring.ll 178.389 ring.ll128 150.1507 ring.simple 401.2107 collnetdirect.simple 48.81882 collnetchain.simple 75.75359 nvls.simple 48.29066 nvlstree.simple 113.8907
rails all_reduce 1073741824 tree.ll 105304 tree.ll128 6549.448 tree.simple 6199.102 ring.ll 102058 ring.ll128 6033.142 ring.simple 5813.562 collnetdirect.simple 4978.475 collnetchain.simple 6780.086 nvls.simple 5460.643 nvlstree.simple 5526.243
rails all_gather 1024 ring.ll 42.74862 ring.ll128 79.2028 ring.simple 145.6026 collnetdirect.simple 44.00592 nvls.simple 43.00383
rails all_gather 33554432 ring.ll 1636.124 ring.ll128 171.2116 ring.simple 230.2507 collnetdirect.simple 238.1808 nvls.simple 168.32
rails reduce_scatter 1048576 ring.ll 92.49451 ring.ll128 82.07536 ring.simple 148.2453 collnetdirect.simple 50.06815 nvls.simple 46.91625
rails reduce_scatter 33554432 ring.ll 1636.124 ring.ll128 171.2116 ring.simple 230.2507 collnetdirect.simple 238.1808 nvls.simple 168.32
pair all_reduce 8 tree.ll 25.20071 tree.ll128 48.50003 tree.simple 92.40002 ring.ll 68.00066 ring.ll128 78.00002 ring.simple 204.4 nvlstree.simple 66.80002
pair all_reduce 1024 tree.ll 25.30114 tree.ll128 48.5033 tree.simple 92.40343 ring.ll 68.08533 ring.ll128 78.0029 ring.simple 204.4027 nvlstree.simple 66.80209
pair all_reduce 100000 tree.ll 40.01482 tree.ll128 49.03677 tree.simple 92.90322 ring.ll 76.33334 ring.ll128 78.28306 ring.simple 286.4204 nvlstree.simple 67.10602
pair all_reduce 1048576 tree.ll 211.6135 tree.ll128 54.12843 tree.simple 98.73198 ring.ll 155.3813 ring.ll128 80.96812 ring.simple 288.8907 nvlstree.simple 70.65053
pair all_reduce 1073741824 tree.ll 95468.92 tree.ll128 3506.606 tree.simple 3334.374 ring.ll 89546.48 ring.ll128 3117.35 ring.simple 3082.362 nvlstree.simple 2038.271
pair all_gather 1024 ring.ll 37.34267 ring.ll128 46.00145 ring.simple 106.4013
pair all_gather 33554432 ring.ll 1435.401 ring.ll128 93.48985 ring.simple 150.0907
pair reduce_scatter 1048576 ring.ll 80.99066 ring.ll128 47.48406 ring.simple 107.7653
pair reduce_scatter 33554432 ring.ll 1435.401 ring.ll128 93.48985 ring.simple 150.0907
grace all_reduce 8 tree.ll 30.40079 tree.ll128 55.50003 tree.simple 88.40003 ring.ll 46.80074 ring.ll128 83.60003 ring.simple 174 nvlstree.simple 108.6
grace all_reduce 1024 tree.ll 30.51155 tree.ll128 55.50426 tree.simple 88.4043 ring.ll 46.89412 ring.ll128 83.60362 ring.simple 174.0033 nvlstree.simple 108.6033
grace all_reduce 100000 tree.ll 46.73987 tree.ll128 56.19444 tree.simple 89.02903 ring.ll 55.99118 ring.ll128 83.95383 ring.simple 243.9255 nvlstree.simple 108.9255
grace all_reduce 1048576 tree.ll 236.0031 tree.ll128 62.78178 tree.simple 96.31498 ring.ll 143.1765 ring.ll128 87.31014 ring.simple 247.0133 nvlstree.simple 112.0133
grace all_reduce 1073741824 tree.ll 105299.2 tree.ll128 4529.424 tree.simple 4140.868 ring.ll 98736.3 ring.ll128 3882.789 ring.simple 3738.854 nvlstree.simple 3603.854
grace all_gather 1024 ring.ll 26.74706 ring.ll128 48.80181 ring.simple 91.20167
grace all_gather 33554432 ring.ll 1568.724 ring.ll128 108.1623 ring.simple 145.8133
grace reduce_scatter 1048576 ring.ll 74.88824 ring.ll128 50.65507 ring.simple 92.90667
grace reduce_scatter 33554432 ring.ll 1568.724 ring.ll128 108.1623 ring.simple 145.8133
sharp all_reduce 8 tree.ll 54.20099 tree.ll128 91.50015 tree.simple 166.4001 ring.ll 289.4008 ring.ll128 315.0001 ring.simple 918.4001 collnetdirect.simple 47.0001 collnetchain.simple 72.20007
sharp all_reduce 1024 tree.ll 54.3409 tree.ll128 91.5194 tree.simple 166.4202 ring.ll 289.5061 ring.ll128 315.0152 ring.simple 918.414 collnetdirect.simple 47.0128 collnetchain.simple 72.20853
sharp all_reduce 100000 tree.ll 74.83984 tree.ll128 94.65746 tree.simple 169.3601 ring.ll 299.7618 ring.ll128 316.4861 ring.simple 1287.127 collnetdirect.simple 48.25 collnetchain.simple 73.03333
sharp all_reduce 1048576 tree.ll 313.9092 tree.ll128 124.6084 tree.simple 203.6469 ring.ll 398.0518 ring.ll128 330.5826 ring.simple 1300.096 collnetdirect.simple 60.1072 collnetchain.simple 80.93813
sharp all_reduce 1073741824 tree.ll 133025.3 tree.ll128 20433.3 tree.simple 19236.84 ring.ll 111548.8 ring.ll128 16271.59 ring.simple 15965.82 collnetdirect.simple 13468.77 collnetchain.simple 9020.049
sharp all_gather 1024 ring.ll 148.0531 ring.ll128 164.5076 ring.simple 463.407
sharp all_gather 33554432 ring.ll 1886.429 ring.ll128 413.8217 ring.simple 692.776
sharp reduce_scatter 1048576 ring.ll 202.3259 ring.ll128 172.2913 ring.simple 470.568
sharp reduce_scatter 33554432 ring.ll 1886.429 ring.ll128 413.8217 ring.simple 692.776
heads all_reduce 8 tree.ll 21.40071 tree.ll128 39.50005 tree.simple 62.40005 ring.ll 25.00062 ring.ll128 45.80004 ring.simple 79.20004 collnetdirect.simple 41.80005 nvls.simple 44.00007 nvlstree.simple 68.80004
heads all_reduce 1024 tree.ll 21.50114 tree.ll128 39.50618 tree.simple 62.40644 ring.ll 25.07965 ring.ll128 45.80507 ring.simple 79.20467 collnetdirect.simple 41.80564 nvls.simple 44.00933 nvlstree.simple 68.80467
heads all_reduce 100000 tree.ll 36.21481 tree.ll128 40.50644 tree.simple 63.34354 ring.ll 32.77778 ring.ll128 46.29536 ring.simple 111.3357 collnetdirect.simple 42.35147 nvls.simple 44.91146 nvlstree.simple 69.25573
heads all_reduce 1048576 tree.ll 207.8135 tree.ll128 50.0533 tree.simple 74.27247 ring.ll 106.5559 ring.ll128 50.9942 ring.simple 115.6587 collnetdirect.simple 47.58259 nvls.simple 53.55733 nvlstree.simple 73.57867
heads all_reduce 1073741824 tree.ll 95465.12 tree.ll128 6523.448 tree.simple 6141.102 ring.ll 83538.25 ring.ll128 5364.663 ring.simple 5004.234 collnetdirect.simple 5963.17 nvls.simple 9830.708 nvlstree.simple 4962.154
heads all_gather 1024 ring.ll 15.83982 ring.ll128 29.90254 ring.simple 43.80234 collnetdirect.simple 41.81185 nvls.simple 44.00574
heads all_gather 33554432 ring.ll 1320.695 ring.ll128 113.0072 ring.simple 120.2587 collnetdirect.simple 430.1615 nvls.simple 231.98
heads reduce_scatter 1048576 ring.ll 56.57795 ring.ll128 32.4971 ring.simple 46.18933 collnetdirect.simple 53.93629 nvls.simple 49.87437
heads reduce_scatter 33554432 ring.ll 1320.695 ring.ll128 113.0072 ring.simple 120.2587 collnetdirect.simple 430.1615 nvls.simple 231.98
few all_reduce 8 tree.ll 20.40079 tree.ll128 38.50019 tree.simple 60.40018 ring.ll 35.40071 ring.ll128 64.20016 ring.simple 125.6002 collnetdirect.simple 40.80007 collnetchain.simple 46.80008 nvls.simple 43.00015 nvlstree.simple 66.80016
few all_reduce 1024 tree.ll 20.51155 tree.ll128 38.52473 tree.simple 60.42577 ring.ll 35.49202 ring.ll128 64.22125 ring.simple 125.6196 collnetdirect.simple 40.80941 collnetchain.simple 46.81067 nvls.simple 43.01955 nvlstree.simple 66.81956
few all_reduce 100000 tree.ll 36.73987 tree.ll128 42.52576 tree.simple 64.17416 ring.ll 44.38692 ring.ll128 66.27578 ring.simple 177.7497 collnetdirect.simple 41.71912 collnetchain.simple 47.84167 nvls.simple 44.90972 nvlstree.simple 68.70972
few all_reduce 1048576 tree.ll 226.0031 tree.ll128 80.7132 tree.simple 107.8899 ring.ll 129.6348 ring.ll128 85.96618 ring.simple 195.8649 collnetdirect.simple 50.43764 collnetchain.simple 57.72266 nvls.simple 63.02489 nvlstree.simple 86.82489
few all_reduce 1073741824 tree.ll 105289.2 tree.ll128 25974.29 tree.simple 24375.21 ring.ll 96531.8 ring.ll128 22352.77 ring.simple 20681.32 collnetdirect.simple 9909.75 collnetchain.simple 11231.61 nvls.simple 20548.48 nvlstree.simple 20572.29
few all_gather 1024 ring.ll 21.04601 ring.ll128 39.11063 ring.simple 67.00978
few all_gather 33554432 ring.ll 1528.756 ring.ll128 387.3589 ring.simple 387.3982
few reduce_scatter 1048576 ring.ll 68.11739 ring.ll128 49.98309 ring.simple 77.01244
few reduce_scatter 33554432 ring.ll 1528.756 ring.ll128 387.3589 ring.simple 387.3982
thin all_reduce 8 tree.ll 26.80078 tree.ll128 48.00019 tree.simple 64.40018 ring.ll 36.60059 ring.ll128 65.00014 ring.simple 92.40012
thin all_reduce 1024 tree.ll 26.91155 tree.ll128 48.02473 tree.simple 64.42577 ring.ll 36.67529 ring.ll128 65.0174 ring.simple 129.376
thin all_reduce 100000 tree.ll 43.13987 tree.ll128 52.02576 tree.simple 68.17416 ring.ll 43.95294 ring.ll128 66.69837 ring.simple 130.9225
thin all_reduce 1048576 tree.ll 232.4031 tree.ll128 90.2132 tree.simple 111.8899 ring.ll 113.7012 ring.ll128 82.80869 ring.simple 145.744
thin all_reduce 1073741824 tree.ll 105295.6 tree.ll128 25983.79 tree.simple 24379.21 ring.ll 78988.2 ring.ll128 18301.1 ring.simple 16906.58
thin all_gather 1024 ring.ll 21.63765 ring.ll128 39.5087 ring.simple 50.408 pat.simple 27.21422
thin all_gather 33554432 ring.ll 1255.219 ring.ll128 324.4391 ring.simple 312.544 pat.simple 493.2338
thin reduce_scatter 1048576 ring.ll 60.15059 ring.ll128 48.40435 ring.simple 58.592 pat.simple 41.76356
thin reduce_scatter 33554432 ring.ll 1255.219 ring.ll128 324.4391 ring.simple 312.544 pat.simple 493.2338
slim all_reduce 8 tree.ll 32.80138 tree.ll128 54.00039 tree.simple 76.40036 ring.ll 71.6007 ring.ll128 114.0003 ring.simple 178.4003 collnetdirect.simple 17.00013 collnetchain.simple 17.0002
slim all_reduce 1024 tree.ll 32.99581 tree.ll128 54.04947 tree.simple 76.45153 ring.ll 71.68982 ring.ll128 114.0387 ring.simple 178.4355 collnetdirect.simple 17.016 collnetchain.simple 17.0256
slim all_reduce 100000 tree.ll 61.48357 tree.ll128 62.05153 tree.simple 83.94831 ring.ll 80.37193 ring.ll128 117.7742 ring.simple 253.2322 collnetdirect.simple 18.5625 collnetchain.simple 19.5
slim all_reduce 1048576 tree.ll 393.7229 tree.ll128 138.4264 tree.simple 171.3797 ring.ll 163.5804 ring.ll128 153.5749 ring.simple 286.1689 collnetdirect.simple 33.384 collnetchain.simple 43.2144
slim all_reduce 1073741824 tree.ll 184825.3 tree.ll128 51925.59 tree.simple 48706.01 ring.ll 94259.48 ring.ll128 40638.68 ring.simple 37532.46 collnetdirect.simple 16794.22 collnetchain.simple 26860.54
slim all_gather 1024 ring.ll 39.14491 ring.ll128 64.01933 ring.simple 93.41778 collnetdirect.simple 17.09481 pat.simple 34.54273
slim all_gather 33554432 ring.ll 1510.786 ring.ll128 697.1981 ring.simple 675.9422 collnetdirect.simple 3123.892 pat.simple 966.5818
slim reduce_scatter 1048576 ring.ll 85.09017 ring.ll128 83.78744 ring.simple 111.6044 collnetdirect.simple 114.0904 pat.simple 63.6414
slim reduce_scatter 33554432 ring.ll 1510.786 ring.ll128 697.1981 ring.simple 675.9422 collnetdirect.simple 3123.892 pat.simple 966.5818
)";

}  // namespace colltune::library_models
