// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An MPI program that knows nothing of colltune: random collectives on several communicators, mixed
// with messages between ranks and one-sided traffic. Every rank computes what it must receive from
// the numbers of calls and ranks alone.
//
//   mpirun -n 4 random_program CALLS SEED [without-windows] [without-reduce-in-place]
//       [without-displacement-alone]
//
// Without windows where MPI has no one-sided traffic: Open MPI 4.1 has none over TCP alone, and
// that of Debian's MPICH 4.0.2 goes wrong. Its MPI_Reduce of some KiB in place crashes, too, and
// its MPI_Allgatherv of one rank alone does not look at the displacement. Prints "N calls, right"
// on rank 0, or the first wrong one, and ends with 1 then.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

/// The value that a rank puts at a place in a call. Small, so that sums are exact in every type and
/// order.
int value_of(unsigned call, int rank, std::size_t place) {
  std::uint32_t mixed = call * 2654435761U ^ static_cast<std::uint32_t>(rank) * 40503U ^
                        static_cast<std::uint32_t>(place) * 2246822519U;
  mixed ^= mixed >> 15U;
  return static_cast<int>(mixed % 3U);
}

/// A type of numbers, as MPI and C++ name it.
struct Numbers {
  MPI_Datatype type;
  std::size_t size;
  void (*put)(void* at, int value);
  double (*get)(const void* at);
};
template <class T>
Numbers numbers(MPI_Datatype type) {
  return {type, sizeof(T),
          [](void* at, int value) {
            const T number = static_cast<T>(value);
            std::memcpy(at, &number, sizeof number);
          },
          [](const void* at) {
            T number;
            std::memcpy(&number, at, sizeof number);
            return static_cast<double>(number);
          }};
}

struct Operator {
  MPI_Op op;
  double (*combine)(double, double);
};

void add_user(void* in, void* in_out, int* count, MPI_Datatype* type) {
  int size = 0;
  MPI_Type_size(*type, &size);
  for (int i = 0; i < *count; ++i) {
    if (*type == MPI_INT) static_cast<int*>(in_out)[i] += static_cast<int*>(in)[i];
    if (*type == MPI_DOUBLE) static_cast<double*>(in_out)[i] += static_cast<double*>(in)[i];
    if (*type == MPI_FLOAT) static_cast<float*>(in_out)[i] += static_cast<float*>(in)[i];
  }
}

class Program {
 public:
  Program(unsigned seed, bool has_windows, bool reduces_in_place, bool displaces_alone)
      : shared_(seed),
        has_windows_(has_windows),
        reduces_in_place_(reduces_in_place),
        displaces_alone_(displaces_alone) {
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank_);
    own_.seed(seed * 7919U + static_cast<unsigned>(world_rank_));
    MPI_Op_create(add_user, 1, &user_);
    comms_ = {MPI_COMM_WORLD, make_reversed(), make_halves()};
  }

  /// Returns what is wrong; empty if all is right.
  std::string call(unsigned number) {
    number_ = number;
    if (draw(200) == 0) {  // a communicator that lives for some calls
      if (comms_.size() > 3) {
        MPI_Comm_free(&comms_.back());
        comms_.pop_back();
      } else {
        MPI_Comm made;
        MPI_Comm_dup(comms_[draw(3)], &made);
        comms_.push_back(made);
      }
    }
    comm_ = comms_[draw(static_cast<unsigned>(comms_.size()))];
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    root_ = static_cast<int>(draw(static_cast<unsigned>(ranks_)));
    // In half of the calls sizes come from few values, as in programs.
    const std::size_t largest = draw(20) == 0 ? 300000 : 20000;
    count_ = draw(2) == 0 ? std::size_t{1} << draw(12)
                          : static_cast<std::size_t>(std::exp(std::uniform_real_distribution<>(
                                0, std::log(static_cast<double>(largest)))(shared_)));
    if (draw(100) == 0) count_ = 0;
    in_place_ = draw(4) == 0;
    const bool has_messages = draw(10) == 0;
    // Open MPI 4.1 makes no window of one rank, and mixes up those of disjoint communicators.
    const bool has_window = draw(50) == 0 && has_windows_ && comm_ == MPI_COMM_WORLD;
    if (has_messages) begin_messages();
    if (own_() % 50 == 0) pause();
    std::string fault = collective(draw(12));
    if (has_messages && fault.empty()) fault = end_messages();
    if (has_window && fault.empty()) fault = one_sided();
    return fault;
  }

  void end() {
    MPI_Op_free(&user_);
    for (std::size_t i = 2; i < comms_.size(); ++i) MPI_Comm_free(&comms_[i]);
    // comms_[1] is left to MPI_Finalize.
  }

 private:
  unsigned draw(unsigned below) { return static_cast<unsigned>(shared_() % below); }

  MPI_Comm make_reversed() {
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank_, &made);
    return made;
  }
  MPI_Comm make_halves() {
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank_ % 2, world_rank_, &made);
    return made;
  }

  void pause() {
    const double until = MPI_Wtime() + 1e-6 * static_cast<double>(own_() % 300);
    while (MPI_Wtime() < until) continue;
  }

  /// Large messages in a ring, which need the receiver to go on, and are received after the
  /// collective.
  void begin_messages() {
    sent_.assign(100000, world_rank_ + static_cast<int>(number_));
    int right = (rank_ + 1) % ranks_;
    MPI_Isend(sent_.data(), static_cast<int>(sent_.size()), MPI_INT, right, 5, comm_, &request_);
  }
  std::string end_messages() {
    std::vector<int> got(sent_.size());
    MPI_Recv(got.data(), static_cast<int>(got.size()), MPI_INT, (rank_ + ranks_ - 1) % ranks_, 5,
             comm_, MPI_STATUS_IGNORE);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return got.front() == got.back() ? "" : "a message between ranks";
  }
  std::string one_sided() {
    int cell = -1;
    MPI_Win window;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, comm_, &window);
    MPI_Win_fence(0, window);
    const int told = rank_ * 3;
    MPI_Put(&told, 1, MPI_INT, (rank_ + 1) % ranks_, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    return cell == (rank_ + ranks_ - 1) % ranks_ * 3 ? "" : "a put";
  }

  /// A buffer of `count` ints for moving data, laid out as this rank likes: plainly, as bytes, or
  /// with gaps.
  struct Layout {
    MPI_Datatype type = MPI_INT;
    int per_element = 1;  ///< elements of the type for one int
    std::size_t stride = 1;
    bool is_made = false;
  };
  /// `of_ints`: one element of the type is one int.
  Layout draw_layout(bool of_ints = false) {
    Layout layout;
    switch (own_() % 4) {
      case 0:
        if (of_ints) break;
        layout.type = MPI_BYTE;
        layout.per_element = sizeof(int);
        break;
      case 1: {  // every third int
        MPI_Datatype vector;
        MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &vector);
        MPI_Type_commit(&vector);
        layout = {.type = vector, .per_element = 1, .stride = 3, .is_made = true};
        break;
      }
      default:
        break;
    }
    return layout;
  }
  std::vector<int> make_buffer(const Layout& layout, std::size_t count) const {
    return std::vector<int>(std::max<std::size_t>(1, count * layout.stride), -7);
  }
  static int elements(const Layout& layout, std::size_t count) {
    return static_cast<int>(count) * layout.per_element;
  }
  static void drop(Layout& layout) {
    if (layout.is_made) MPI_Type_free(&layout.type);
  }
  void fill(std::vector<int>& buffer, const Layout& layout, std::size_t from, std::size_t count,
            int rank, std::size_t place) const {
    for (std::size_t i = 0; i < count; ++i)
      buffer[(from + i) * layout.stride] = value_of(number_, rank, place + i);
  }
  /// Whether `count` ints from `from` on are what `rank` put at `place`, and the gaps untouched.
  bool holds(const std::vector<int>& buffer, const Layout& layout, std::size_t from,
             std::size_t count, int rank, std::size_t place) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (buffer[(from + i) * layout.stride] != value_of(number_, rank, place + i)) return false;
      for (std::size_t gap = 1; gap < layout.stride; ++gap)
        if (buffer[(from + i) * layout.stride + gap] != -7) return false;
    }
    return true;
  }

  std::string collective(unsigned which) {
    switch (which) {
      case 0:
        return broadcast();
      case 1:
        return all_gather();
      case 2:
        return all_to_all();
      case 3:
        return gather();
      case 4:
        return scatter();
      case 5:
        return reduce_scatter(true);
      case 6:
        return reduce_scatter(false);
      case 7:
        return reduce();
      case 8:
      case 9:
        return all_gather_v();
      default:
        return all_reduce();
    }
  }

  std::string broadcast() {
    Layout layout = draw_layout();
    auto buffer = make_buffer(layout, count_);
    if (rank_ == root_) fill(buffer, layout, 0, count_, root_, 0);
    MPI_Bcast(buffer.data(), elements(layout, count_), layout.type, root_, comm_);
    const bool right = holds(buffer, layout, 0, count_, root_, 0);
    drop(layout);
    return right ? "" : "MPI_Bcast";
  }

  std::string all_gather() {
    Layout from = draw_layout();
    Layout to = draw_layout();
    const auto ranks = static_cast<std::size_t>(ranks_);
    const auto own = static_cast<std::size_t>(rank_);
    auto send = make_buffer(from, count_);
    auto receive = make_buffer(to, count_ * ranks);
    fill(send, from, 0, count_, rank_, 0);
    if (in_place_) fill(receive, to, own * count_, count_, rank_, 0);
    MPI_Allgather(in_place_ ? MPI_IN_PLACE : send.data(), elements(from, count_), from.type,
                  receive.data(), elements(to, count_), to.type, comm_);
    bool right = true;
    for (std::size_t r = 0; r < ranks; ++r)
      right = right && holds(receive, to, r * count_, count_, static_cast<int>(r), 0);
    drop(from);
    drop(to);
    return right ? "" : "MPI_Allgather";
  }

  /// Counts of unlike lengths, the same on all ranks: some are 0, sometimes one has nearly all, and
  /// sometimes they are alike.
  std::vector<int> draw_counts(std::size_t most) {
    // Communicators of unlike size are in use at the same time: they draw as often.
    std::mt19937 random(draw(std::numeric_limits<unsigned>::max()));
    std::vector<int> counts(static_cast<std::size_t>(ranks_), static_cast<int>(most));
    const unsigned form = random() % 8;
    for (int& count : counts)
      if (form > 0)
        count =
            random() % 4 == 0 ? 0 : static_cast<int>(random() % (static_cast<unsigned>(most) + 1));
    if (form > 5) {
      for (int& count : counts) count /= 16;
      counts[random() % static_cast<unsigned>(ranks_)] = static_cast<int>(most);
    }
    return counts;
  }

  std::string all_gather_v() {
    // Open MPI 4.1 chooses by the size of its send type times the counts of the receive type
    // (ompi_coll_tuned_allgatherv_intra_dec_fixed): on ranks with other types it chooses otherwise.
    Layout from = draw_layout(true);
    Layout to = draw_layout(true);
    const auto ranks = static_cast<std::size_t>(ranks_);
    const auto own = static_cast<std::size_t>(rank_);
    const std::vector<int> counts = draw_counts(std::min<std::size_t>(count_, 50000));
    // Where its blocks lie is this rank's affair.
    const unsigned order = ranks > 1 || displaces_alone_ ? own_() % 3 : 0;
    std::vector<std::size_t> places(ranks);
    std::size_t next = order == 1 ? 5 : 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t r = order == 2 ? ranks - 1 - i : i;
      places[r] = next;
      next += static_cast<std::size_t>(counts[r]) + (order == 1 && own_() % 2 == 0 ? 3 : 0);
    }
    const auto count = static_cast<std::size_t>(counts[own]);
    auto send = make_buffer(from, count);
    auto receive = make_buffer(to, next);
    fill(send, from, 0, count, rank_, 0);
    if (in_place_) fill(receive, to, places[own], count, rank_, 0);
    std::vector<int> receive_counts;
    std::vector<int> displacements;
    for (std::size_t r = 0; r < ranks; ++r) {
      receive_counts.push_back(counts[r] * to.per_element);
      displacements.push_back(static_cast<int>(places[r]) * to.per_element);
    }
    MPI_Allgatherv(in_place_ ? MPI_IN_PLACE : send.data(), elements(from, count), from.type,
                   receive.data(), receive_counts.data(), displacements.data(), to.type, comm_);
    bool right = true;
    for (std::size_t r = 0; r < ranks; ++r)
      right = right && holds(receive, to, places[r], static_cast<std::size_t>(counts[r]),
                             static_cast<int>(r), 0);
    drop(from);
    drop(to);
    return right ? "" : "MPI_Allgatherv";
  }

  std::string all_to_all() {
    Layout from = draw_layout();
    Layout to = draw_layout();
    const auto ranks = static_cast<std::size_t>(ranks_);
    const auto own = static_cast<std::size_t>(rank_);
    const std::size_t count = std::min<std::size_t>(count_, 50000);
    auto send = make_buffer(from, count * ranks);
    auto receive = make_buffer(to, count * ranks);
    fill(in_place_ ? receive : send, in_place_ ? to : from, 0, count * ranks, rank_, 0);
    MPI_Alltoall(in_place_ ? MPI_IN_PLACE : send.data(), elements(from, count), from.type,
                 receive.data(), elements(to, count), to.type, comm_);
    bool right = true;
    for (std::size_t r = 0; r < ranks; ++r)
      right = right && holds(receive, to, r * count, count, static_cast<int>(r), own * count);
    drop(from);
    drop(to);
    return right ? "" : "MPI_Alltoall";
  }

  std::string gather() {
    Layout from = draw_layout();
    Layout to = draw_layout();
    const auto ranks = static_cast<std::size_t>(ranks_);
    const bool in_place = in_place_ && rank_ == root_;
    auto send = make_buffer(from, count_);
    fill(send, from, 0, count_, rank_, 0);
    std::vector<int> receive;
    if (rank_ == root_) receive = make_buffer(to, count_ * ranks);
    if (in_place) fill(receive, to, static_cast<std::size_t>(root_) * count_, count_, rank_, 0);
    // What is not significant on a rank is nonsense there.
    const bool is_root = rank_ == root_;
    MPI_Gather(in_place ? MPI_IN_PLACE : send.data(), elements(from, count_), from.type,
               is_root ? receive.data() : nullptr, is_root ? elements(to, count_) : -5,
               is_root ? to.type : MPI_DATATYPE_NULL, root_, comm_);
    bool right = true;
    for (std::size_t r = 0; is_root && r < ranks; ++r)
      right = right && holds(receive, to, r * count_, count_, static_cast<int>(r), 0);
    drop(from);
    drop(to);
    return right ? "" : "MPI_Gather";
  }

  std::string scatter() {
    Layout from = draw_layout();
    Layout to = draw_layout();
    const bool is_root = rank_ == root_;
    const bool in_place = in_place_ && is_root;
    std::vector<int> send;
    if (is_root) {
      send = make_buffer(from, count_ * static_cast<std::size_t>(ranks_));
      fill(send, from, 0, count_ * static_cast<std::size_t>(ranks_), root_, 0);
    }
    auto receive = make_buffer(to, count_);
    MPI_Scatter(is_root ? send.data() : nullptr, is_root ? elements(from, count_) : -5,
                is_root ? from.type : MPI_DATATYPE_NULL, in_place ? MPI_IN_PLACE : receive.data(),
                elements(to, count_), to.type, root_, comm_);
    const bool right =
        in_place || holds(receive, to, 0, count_, root_, static_cast<std::size_t>(rank_) * count_);
    drop(from);
    drop(to);
    return right ? "" : "MPI_Scatter";
  }

  /// What a reduction is of. Users' operators and those that the kernels lack are among them.
  struct Reduction {
    Numbers numbers;
    Operator op;
    std::string name;
  };
  Reduction draw_reduction() {
    const Numbers types[] = {numbers<float>(MPI_FLOAT),
                             numbers<double>(MPI_DOUBLE),
                             numbers<int>(MPI_INT),
                             numbers<long>(MPI_LONG),
                             numbers<unsigned char>(MPI_UINT8_T),
                             numbers<std::uint64_t>(MPI_UINT64_T)};
    const Operator ops[] = {{MPI_SUM, [](double a, double b) { return a + b; }},
                            {MPI_MAX, [](double a, double b) { return std::max(a, b); }},
                            {MPI_MIN, [](double a, double b) { return std::min(a, b); }},
                            {MPI_PROD, [](double a, double b) { return a * b; }}};
    Reduction drawn{types[draw(6)], ops[draw(4)], ""};
    if (draw(20) == 0) {
      drawn.numbers = types[draw(3)];
      drawn.op = {user_, [](double a, double b) { return a + b; }};
    } else if (draw(20) == 0) {
      drawn.numbers = types[2];
      drawn.op = {MPI_BOR, [](double a, double b) {
                    return static_cast<double>(static_cast<int>(a) | static_cast<int>(b));
                  }};
    }
    return drawn;
  }
  std::vector<char> filled(const Numbers& numbers, std::size_t count, int rank) const {
    std::vector<char> made(std::max<std::size_t>(1, count * numbers.size));
    for (std::size_t i = 0; i < count; ++i)
      numbers.put(made.data() + i * numbers.size, value_of(number_, rank, i));
    return made;
  }
  bool is_reduced(const std::vector<char>& got, const Reduction& of, std::size_t from,
                  std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      double expected = value_of(number_, 0, from + i);
      for (int rank = 1; rank < ranks_; ++rank)
        expected = of.op.combine(expected, value_of(number_, rank, from + i));
      std::vector<char> rounded(of.numbers.size);
      of.numbers.put(rounded.data(), static_cast<int>(expected));
      if (of.numbers.get(got.data() + i * of.numbers.size) != of.numbers.get(rounded.data()))
        return false;
    }
    return true;
  }

  std::string all_reduce() {
    const Reduction of = draw_reduction();
    auto send = filled(of.numbers, count_, rank_);
    std::vector<char> receive(send.size(), 'x');
    if (in_place_) receive = send;
    MPI_Allreduce(in_place_ ? MPI_IN_PLACE : send.data(), receive.data(), static_cast<int>(count_),
                  of.numbers.type, of.op.op, comm_);
    return is_reduced(receive, of, 0, count_) ? "" : "MPI_Allreduce";
  }

  std::string reduce() {
    const Reduction of = draw_reduction();
    const bool is_root = rank_ == root_;
    const bool in_place = in_place_ && is_root && reduces_in_place_;
    auto send = filled(of.numbers, count_, rank_);
    std::vector<char> receive;
    if (is_root) receive.assign(send.size(), 'x');
    if (in_place) receive = send;
    MPI_Reduce(in_place ? MPI_IN_PLACE : send.data(), is_root ? receive.data() : nullptr,
               static_cast<int>(count_), of.numbers.type, of.op.op, root_, comm_);
    return !is_root || is_reduced(receive, of, 0, count_) ? "" : "MPI_Reduce";
  }

  std::string reduce_scatter(bool is_block) {
    const Reduction of = draw_reduction();
    const auto ranks = static_cast<std::size_t>(ranks_);
    const std::size_t count = std::min<std::size_t>(count_, 100000);
    std::vector<int> counts(ranks, static_cast<int>(count));
    if (!is_block && draw(2) == 0) counts = draw_counts(count);
    std::size_t all = 0;
    std::size_t before = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r < static_cast<std::size_t>(rank_)) before += static_cast<std::size_t>(counts[r]);
      all += static_cast<std::size_t>(counts[r]);
    }
    auto send = filled(of.numbers, all, rank_);
    std::vector<char> receive(send.size(), 'x');
    if (in_place_) receive = send;
    void* const from = in_place_ ? MPI_IN_PLACE : send.data();
    if (is_block)
      MPI_Reduce_scatter_block(from, receive.data(), static_cast<int>(count), of.numbers.type,
                               of.op.op, comm_);
    else
      MPI_Reduce_scatter(from, receive.data(), counts.data(), of.numbers.type, of.op.op, comm_);
    const auto own = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank_)]);
    return is_reduced(receive, of, before, own) ? ""
           : is_block                           ? "MPI_Reduce_scatter_block"
                                                : "MPI_Reduce_scatter";
  }

  std::mt19937 shared_;  ///< draws the same on all ranks
  bool has_windows_;
  bool reduces_in_place_;
  bool displaces_alone_;
  std::mt19937 own_;
  int world_rank_ = 0;
  MPI_Op user_ = MPI_OP_NULL;
  std::vector<MPI_Comm> comms_;
  unsigned number_ = 0;
  MPI_Comm comm_ = MPI_COMM_WORLD;
  int rank_ = 0;
  int ranks_ = 1;
  int root_ = 0;
  std::size_t count_ = 0;
  bool in_place_ = false;
  std::vector<int> sent_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned calls = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto is_given = [&](const char* what) {
    return std::any_of(argv + std::min(argc, 3), argv + argc,
                       [&](const char* word) { return std::string(word) == what; });
  };
  Program program(seed, !is_given("without-windows"), !is_given("without-reduce-in-place"),
                  !is_given("without-displacement-alone"));
  for (unsigned call = 0; call < calls; ++call)
    if (const std::string fault = program.call(call); !fault.empty()) {
      std::printf("rank %d: call %u is wrong: %s\n", rank, call, fault.c_str());
      std::fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  program.end();
  if (rank == 0) std::printf("%u calls, right\n", calls);
  MPI_Finalize();
  return 0;
}
