// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "schedule/schedule_writer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::string describe(const Block& block) {
  const char* const space = block.space == Space::send      ? "send"
                            : block.space == Space::receive ? "receive"
                                                            : "scratch";
  return "block " + std::to_string(block.index) + " of rank " + std::to_string(block.rank) + "'s " +
         space + " memory";
}

[[noreturn]] void refuse(int rank, const char* what, const Block& block) {
  throw Error(StatusCode::internal, "a schedule lets rank " + std::to_string(rank) + ' ' + what +
                                        ' ' + describe(block) + ", which it cannot reach");
}

Block block_in(const std::vector<std::vector<Block>>& buffers, int rank, int index) {
  return buffers.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(index));
}

bool combines(StepKind kind) { return kind == StepKind::combine || kind == StepKind::combine_last; }

/// What the rank of a step writes, and reads, itself: a message's other end is the other rank's.
template <class Act>
void for_each_written(const Step& step, Act act) {
  if (step.kind == StepKind::send) return;
  act(step.to);
  if (step.also_to) act(*step.also_to);
}

template <class Act>
void for_each_read(const Step& step, Act act) {
  if (step.kind == StepKind::receive) return;
  for (const Block& block : step.from) act(block);
}

}  // namespace

ScheduleWriter::ScheduleWriter(const Shape& shape)
    : shape_(shape), scratch_blocks_(static_cast<std::size_t>(shape.ranks)) {
  if (shape.slots < 2) throw Error(StatusCode::internal, "a schedule needs 2 slots or more");
  if (!shape.nodes.empty() && shape.nodes.size() != static_cast<std::size_t>(shape.ranks))
    throw Error(StatusCode::internal, "a schedule for " + std::to_string(shape.ranks) +
                                          " rank(s) has the nodes of " +
                                          std::to_string(shape.nodes.size()));
}

void ScheduleWriter::draw_part(const Part& part,
                               const std::function<void(ScheduleWriter&)>& algorithm) {
  if (part_ != nullptr || part.ranks.size() != static_cast<std::size_t>(part.shape.ranks))
    throw Error(StatusCode::internal, "a part of a schedule must have its ranks, and no parts");
  part_ = &part;
  try {
    algorithm(*this);
  } catch (...) {
    part_ = nullptr;
    throw;
  }
  part_ = nullptr;
}

int ScheduleWriter::rank_of(int rank) const {
  if (rank < 0 || rank >= ranks())
    throw Error(StatusCode::internal, "a schedule for " + std::to_string(ranks()) +
                                          " rank(s) names rank " + std::to_string(rank));
  return part_ != nullptr ? part_->ranks[static_cast<std::size_t>(rank)] : rank;
}

Block ScheduleWriter::input(int rank, int index) const {
  const int known = rank_of(rank);
  return part_ != nullptr ? block_in(part_->inputs, rank, index) : input_of(known, index);
}

Block ScheduleWriter::output(int rank, int index) const {
  const int known = rank_of(rank);
  return part_ != nullptr ? block_in(part_->outputs, rank, index) : output_of(known, index);
}

Block ScheduleWriter::temporary(int rank) { return temporary_of(rank_of(rank)); }

bool ScheduleWriter::maps(int rank, const Block& block) const {
  return is_mapped(rank_of(rank), block);
}

bool ScheduleWriter::can_fetch(int rank, const Block& block) const {
  const int known = rank_of(rank);
  return reaches(known, block) || !shape_.share_node(known, block.rank);
}

void ScheduleWriter::combine(const Block& to, std::vector<Block> from, bool is_last) {
  combine_as(to.rank, to, std::move(from), is_last);
}

void ScheduleWriter::combine_by(int rank, const Block& to, std::vector<Block> from, bool is_last) {
  combine_as(rank_of(rank), to, std::move(from), is_last);
}

Block ScheduleWriter::input_of(int rank, int index) const {
  const bool is_gathered = shape_.collective == Collective::all_gather ||
                           (shape_.collective == Collective::gather && rank == shape_.root);
  if (shape_.in_place && is_gathered) return {rank, Space::receive, rank};
  return {rank, Space::send, index};
}

Block ScheduleWriter::output_of(int rank, int index) const {
  const Block own{rank, Space::receive, index};
  if (!shape_.in_place) return own;
  switch (shape_.collective) {
    case Collective::all_reduce:
    case Collective::all_to_all:
    case Collective::reduce:
      return {rank, Space::send, index};
    case Collective::broadcast:
      return rank == shape_.root ? Block{rank, Space::send, index} : own;
    case Collective::reduce_scatter:
      return {rank, Space::send, rank};
    case Collective::scatter:
      return rank == shape_.root ? Block{rank, Space::send, rank} : own;
    case Collective::all_gather:
    case Collective::gather:
      break;
  }
  return own;
}

Block ScheduleWriter::temporary_of(int rank) {
  return {rank, Space::scratch, scratch_blocks_[static_cast<std::size_t>(rank)]++};
}

Block ScheduleWriter::share(const Block& block) {
  if (block.space == Space::scratch || shape_.access != Access::staged || shape_.ranks == 1)
    return block;
  const Block copy = keep(block);
  shared_.emplace(copy, block);
  return copy;
}

Block ScheduleWriter::keep(const Block& block) {
  if (const int copied = touches_[block].scratch_copy; copied >= 0)
    return {block.rank, Space::scratch, copied};
  const Block kept = temporary_of(block.rank);
  copy(kept, block);
  touches_[block].scratch_copy = kept.index;
  return kept;
}

Block ScheduleWriter::original_of(const Block& shared) const {
  const auto found = shared_.find(shared);
  if (found == shared_.end()) return shared;
  const auto touches = touches_.find(found->second);
  const bool holds_the_same = touches != touches_.end() && shared.space == Space::scratch &&
                              touches->second.scratch_copy == shared.index;
  return holds_the_same ? found->second : shared;
}

bool ScheduleWriter::is_mapped(int rank, const Block& block) const {
  if (block.rank == rank) return true;
  return shape_.share_node(rank, block.rank) &&
         (block.space == Space::scratch || shape_.access == Access::direct);
}

bool ScheduleWriter::reaches(int rank, const Block& block) const {
  return is_mapped(rank, block) ||
         (shape_.share_node(rank, block.rank) && shape_.access == Access::cma);
}

void ScheduleWriter::note_write(const Block& block, std::size_t step) {
  Touches& touches = touches_[block];
  touches.writer = touches.last = step;
  touches.scratch_copy = -1;
}

int ScheduleWriter::share_of(const Block& block) {
  return block.space == Space::scratch ? touches_[block].share : block.index;
}

void ScheduleWriter::add(int rank, Step step, int message) {
  const std::size_t index = written_.size();
  step.share = share_of(step.from.front());
  for_each_read(step, [&](const Block& block) {
    if (!reaches(rank, block)) refuse(rank, "read", block);
    touches_[block].last = index;
  });
  for_each_written(step, [&](const Block& block) {
    if (!reaches(rank, block)) refuse(rank, "write", block);
    note_write(block, index);
    touches_[block].share = step.share;
  });
  written_.push_back({std::move(step), rank, message});
}

void ScheduleWriter::send_message(const Block& to, const Block& from) {
  // A copy for the ranks of the node is not needed for this one.
  const Block sent = original_of(from);
  const int message = messages_++;
  add(from.rank, {.kind = StepKind::send, .to = to, .from = {sent}}, message);
  add(to.rank, {.kind = StepKind::receive, .to = to, .from = {sent}}, message);
}

bool ScheduleWriter::joins_its_maker(int rank, const Block& to, const Block& from) {
  const std::size_t maker = touches_[from].writer;
  if (maker == none) return false;
  auto& [step, by, message] = written_[maker];
  if (by != rank || !combines(step.kind) || step.to != from || step.also_to || !is_mapped(rank, to))
    return false;
  const std::size_t last = touches_[to].last;
  if (last != none && last >= maker) return false;
  step.also_to = to;
  note_write(to, maker);
  touches_[to].share = step.share;
  return true;
}

void ScheduleWriter::copy(const Block& to, const Block& from) {
  if (to == from || (to.rank == from.rank && joins_its_maker(to.rank, to, from))) return;
  if (!share_node(to, from)) return send_message(to, from);
  add(to.rank, {.kind = StepKind::copy, .to = to, .from = {from}});
}

void ScheduleWriter::push(const Block& to, const Block& from) {
  if (to == from || joins_its_maker(from.rank, to, from)) return;
  if (!share_node(to, from)) return send_message(to, from);
  add(from.rank, {.kind = StepKind::copy, .to = to, .from = {from}});
}

void ScheduleWriter::move(const Block& to, const Block& from, bool pushes) {
  if (to.rank == from.rank || !share_node(to, from)) {
    copy(to, from);
  } else if (!pushes) {
    copy(to, share(from));
  } else if (reaches(from.rank, to)) {
    push(to, from);
  } else {
    const Block delivered = temporary_of(to.rank);
    push(delivered, from);
    copy(to, delivered);
  }
}

Block ScheduleWriter::local(int rank, const Block& block) {
  if (is_mapped(rank, block)) return block;
  const Block fetched = temporary_of(rank);
  copy(fetched, block);
  return fetched;
}

void ScheduleWriter::combine_as(int rank, const Block& to, std::vector<Block> from, bool is_last) {
  if (from.empty()) throw Error(StatusCode::internal, "a schedule combines nothing");
  if (!is_mapped(rank, to)) refuse(rank, "combine into", to);
  for (Block& block : from) block = local(rank, block);
  const bool is_all = is_last && (part_ == nullptr || part_->is_last);
  add(rank, {.kind = is_all ? StepKind::combine_last : StepKind::combine,
             .to = to,
             .from = std::move(from)});
}

/// Finds out who waits for whom, and builds the schedule of it.
class ScheduleWriter::Waits {
 public:
  explicit Waits(const ScheduleWriter& writer)
      : shape_(writer.shape_),
        written_(send_early(without_unread_copies(writer.written_))),
        writers_(writers_of(written_)),
        depends_(written_.size()),
        starts_(written_.size()),
        places_(written_.size()),
        steps_of_(static_cast<std::size_t>(shape_.ranks)) {
    schedule_.ranks.resize(static_cast<std::size_t>(shape_.ranks));
    for (const int blocks : writer.scratch_blocks_)
      schedule_.scratch_blocks = std::max(schedule_.scratch_blocks, blocks);
  }

  Schedule build() {
    number_messages();
    replay();
    place_steps();
    for (int rank = 0; rank < shape_.ranks; ++rank) add_awaits(rank);
    mark_awaited();
    return std::move(schedule_);
  }

 private:
  struct Replayed {
    std::size_t writer = none;
    std::vector<std::size_t> readers;  ///< since
    std::size_t first = none;          ///< step that touched it first
    std::map<int, std::size_t> last_of_rank;
  };
  struct Place {
    Phase phase = Phase::lead;
    int position = 0;
  };

  /// What was copied for ranks of the same node and then read by others alone.
  static std::vector<Written> without_unread_copies(const std::vector<Written>& written) {
    std::set<Block> read;
    std::vector<Written> kept;
    for (auto one = written.rbegin(); one != written.rend(); ++one) {
      const Step& step = one->step;
      if (step.kind == StepKind::copy && step.to.space == Space::scratch && !read.contains(step.to))
        continue;
      for_each_read(step, [&](const Block& block) { read.insert(block); });
      kept.push_back(*one);
    }
    std::ranges::reverse(kept);
    return kept;
  }

  /// Every send right behind the step that made what it sends: nobody waits for it there, while who
  /// receives may wait for it. But where another rank writes what is sent, the sender waits until
  /// the message has left (look_at_message): further ahead that could be for ever.
  static std::vector<Written> send_early(const std::vector<Written>& written) {
    const std::map<Block, std::set<int>> writers = writers_of(written);
    std::map<Block, std::size_t> makers;
    std::vector<std::vector<std::size_t>> sends_behind(written.size() + 1);
    for (std::size_t i = 0; i < written.size(); ++i) {
      const auto& [step, rank, message] = written[i];
      if (step.kind == StepKind::send) {
        const auto maker = makers.find(step.from.front());
        const std::size_t behind = maker == makers.end() ? 0 : maker->second + 1;
        sends_behind[is_foreign(writers, step.from.front(), rank) ? i : behind].push_back(i);
      }
      for_each_written(step, [&](const Block& block) { makers[block] = i; });
    }
    std::vector<Written> ordered;
    for (std::size_t i = 0; i <= written.size(); ++i) {
      if (i > 0 && written[i - 1].step.kind != StepKind::send) ordered.push_back(written[i - 1]);
      for (const std::size_t send : sends_behind[i]) ordered.push_back(written[send]);
    }
    return ordered;
  }

  static std::map<Block, std::set<int>> writers_of(const std::vector<Written>& written) {
    std::map<Block, std::set<int>> writers;
    for (const auto& [step, rank, message] : written)
      for_each_written(step, [&, by = rank](const Block& block) { writers[block].insert(by); });
    return writers;
  }

  /// Whether another rank than `rank` writes `block`.
  static bool is_foreign(const std::map<Block, std::set<int>>& writers, const Block& block,
                         int rank) {
    const auto of_block = writers.find(block);
    return of_block != writers.end() &&
           std::ranges::any_of(of_block->second, [rank](int one) { return one != rank; });
  }

  void number_messages() {
    std::map<std::pair<int, int>, int> tags;
    std::map<int, int> tag_of;  // by message
    for (auto& [step, rank, message] : written_) {
      if (message < 0) continue;
      if (step.kind == StepKind::send) {
        int& tag = tags[{rank, step.to.rank}];
        tag_of[message] = tag++;
        schedule_.tags = std::max(schedule_.tags, tag);
      }
      step.tag = tag_of.at(message);
      step.message = schedule_.ranks[static_cast<std::size_t>(rank)].messages++;
    }
  }

  /// Who depends on whom within a wave, in the one order of all steps.
  void replay() {
    std::vector<int> depth(written_.size());
    std::map<int, int> depth_of_message;
    std::vector<int> depth_of_rank(static_cast<std::size_t>(shape_.ranks));
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const auto& [step, rank, message] = written_[i];
      for_each_read(step, [&, by = rank](const Block& block) { read(i, by, block); });
      for_each_written(step, [&, by = rank](const Block& block) { write(i, by, block); });
      int& own = depth_of_rank[static_cast<std::size_t>(rank)];
      if (!starts_[i].empty()) own = std::max(own, 1);
      for (const std::size_t j : depends_[i]) own = std::max(own, depth[j] + 1);
      if (step.kind == StepKind::send) depth_of_message[message] = own;
      if (step.kind == StepKind::receive) own = std::max(own, depth_of_message[message] + 1);
      depth[i] = own;
      schedule_.rounds = std::max(schedule_.rounds, own);
    }
  }

  void read(std::size_t i, int rank, const Block& block) {
    Replayed& replayed = touch(i, rank, block);
    if (replayed.writer != none)
      depend(i, replayed.writer);
    else if (block.space == Space::scratch)
      throw Error(StatusCode::internal,
                  "a schedule reads " + describe(block) + ", which nobody has written");
    replayed.readers.push_back(i);
  }

  void write(std::size_t i, int rank, const Block& block) {
    Replayed& replayed = touch(i, rank, block);
    if (replayed.writer != none) depend(i, replayed.writer);
    for (const std::size_t j : replayed.readers) {
      depend(i, j);
      const auto& [step, by, message] = written_[j];
      if (step.kind == StepKind::send && by == rank)
        written_[i].step.overtakes.push_back(step.message);
    }
    replayed.readers.clear();
    replayed.writer = i;
  }

  Replayed& touch(std::size_t i, int rank, const Block& block) {
    Replayed& replayed = blocks_[block];
    if (replayed.first == none) replayed.first = i;
    replayed.last_of_rank[rank] = i;
    if (block.rank != rank && block.space != Space::scratch) starts_[i].push_back(block.rank);
    return replayed;
  }

  void depend(std::size_t i, std::size_t j) {
    if (written_[i].rank != written_[j].rank) depends_[i].push_back(j);
  }

  /// A rank's steps before the first that waits for this wave are its lead.
  void place_steps() {
    std::vector<bool> has_rest(static_cast<std::size_t>(shape_.ranks));
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const auto rank = static_cast<std::size_t>(written_[i].rank);
      look_at_message(i);
      if (!depends_[i].empty() || !starts_[i].empty() || may_wait(written_[i].step))
        has_rest[rank] = true;
      const Phase phase = has_rest[rank] ? Phase::rest : Phase::lead;
      auto& steps = schedule_.ranks[rank].phases[static_cast<std::size_t>(phase)];
      steps.push_back(written_[i].step);
      places_[i] = {phase, static_cast<int>(steps.size())};
      steps_of_[rank].push_back(i);
    }
    for (const auto& [block, replayed] : blocks_) {
      if (block.space == Space::scratch) {
        reused_[replayed.first].push_back(&replayed);
        continue;
      }
      for (const auto& [rank, step] : replayed.last_of_rank)
        if (rank != block.rank) {
          std::size_t& last = visitors_[{block.rank, rank}][places_[step].phase];
          last = std::max(last, step);
        }
    }
  }

  static bool may_wait(const Step& step) {
    return step.kind == StepKind::receive || !step.overtakes.empty() ||
           (step.kind == StepKind::send && step.is_awaited);
  }

  void look_at_message(std::size_t i) {
    auto& [step, rank, message] = written_[i];
    if (step.kind == StepKind::send) {
      // Who writes there next knows that this rank has come so far, not that the message has left:
      // so it must have left before.
      step.is_awaited = is_foreign(writers_, step.from.front(), rank);
    } else if (step.kind == StepKind::receive) {
      const Replayed& to = blocks_.at(step.to);
      const bool is_own = to.last_of_rank.size() == 1;
      step.is_free_before = to.first == i && (step.to.space != Space::scratch || is_own);
    }
  }

  [[nodiscard]] Await await(std::size_t step, Lag lag) const {
    return {written_[step].rank, places_[step].phase, places_[step].position, lag};
  }

  void add_awaits(int rank) {
    Awaited awaited;  // in this wave, up to here
    Awaited awaited_in_all;
    const auto& steps = steps_of_[static_cast<std::size_t>(rank)];
    for (const std::size_t i : steps)
      for (const std::size_t j : depends_[i]) {
        int& most = awaited_in_all[{written_[j].rank, places_[j].phase}];
        most = std::max(most, places_[j].position);
      }
    Awaited lagging;
    std::map<int, bool> has_started;
    for (const std::size_t i : steps) {
      std::vector<Await> awaits;
      for (const std::size_t j : depends_[i]) {
        const Await one = await(j, Lag::same_wave);
        int& most = awaited[{one.rank, one.phase}];
        has_started[one.rank] = true;
        if (most >= one.position) continue;
        most = one.position;
        std::erase_if(awaits, [&](const Await& other) {
          return other.rank == one.rank && other.phase == one.phase;
        });
        awaits.push_back(one);
      }
      for (const int other : starts_[i])
        if (!std::exchange(has_started[other], true))
          awaits.push_back({other, Phase::lead, 0, Lag::start_of_call});
      add_reuse(i, awaited_in_all, lagging, awaits);
      const auto& place = places_[i];
      schedule_.ranks[static_cast<std::size_t>(rank)]
          .phases[static_cast<std::size_t>(place.phase)]
                 [static_cast<std::size_t>(place.position - 1)]
          .awaits = std::move(awaits);
    }
    for (int other = 0; other < shape_.ranks; ++other) {
      const auto visits = visitors_.find({rank, other});
      if (visits == visitors_.end()) continue;
      for (const auto& [phase, step] : visits->second)
        if (awaited[{other, phase}] < places_[step].position)
          schedule_.ranks[static_cast<std::size_t>(rank)].at_end.push_back(
              await(step, Lag::same_wave));
    }
  }

  using Awaited = std::map<std::pair<int, Phase>, int>;

  /// Whether a rank that has done all waits of `awaited_in_all` in earlier waves knows that `one`
  /// (of `slots` waves before) is done when it comes to a step of `phase`. A rank does the rest of
  /// wave w between the leads of waves w + 1 and w + 2.
  [[nodiscard]] bool is_known(const Await& one, Phase phase, const Awaited& awaited_in_all) const {
    // Waves from the one that is awaited to the last one whose waits are all behind this step.
    const int waves = shape_.slots - (phase == Phase::lead ? 2 : 1);
    const auto position = [&](Phase of) {
      const auto found = awaited_in_all.find({one.rank, of});
      return found == awaited_in_all.end() ? 0 : found->second;
    };
    const int lead = position(Phase::lead);
    const int rest = position(Phase::rest);
    if (one.phase == Phase::lead)
      return rest > 0 || (lead > 0 && waves >= 1) || lead >= one.position;
    return (rest > 0 && waves >= 1) || rest >= one.position || (lead > 0 && waves >= 2);
  }

  /// The first to write a scratch block waits for all who touched it when its slot was used before,
  /// unless it knows already.
  void add_reuse(std::size_t i, const Awaited& awaited_in_all, Awaited& lagging,
                 std::vector<Await>& awaits) const {
    const auto reused = reused_.find(i);
    if (reused == reused_.end()) return;
    for (const Replayed* const block : reused->second)
      for (const auto& [other, step] : block->last_of_rank) {
        const Await one = await(step, Lag::slot_before);
        if (other == written_[i].rank || is_known(one, places_[i].phase, awaited_in_all)) continue;
        int& most = lagging[{one.rank, one.phase}];
        if (most >= one.position) continue;
        most = one.position;
        std::erase_if(awaits, [&](const Await& before) {
          return before.rank == one.rank && before.phase == one.phase &&
                 before.lag == Lag::slot_before;
        });
        awaits.push_back(one);
      }
  }

  void mark_awaited() {
    const auto mark = [this](const Await& await) {
      RankSchedule& rank = schedule_.ranks[static_cast<std::size_t>(await.rank)];
      if (await.lag == Lag::start_of_call)
        rank.is_start_awaited = true;
      else
        rank.phases[static_cast<std::size_t>(await.phase)]
                   [static_cast<std::size_t>(await.position - 1)]
                       .is_awaited = true;
    };
    for (const RankSchedule& rank : schedule_.ranks) {
      for (const auto& steps : rank.phases)
        for (const Step& step : steps) std::ranges::for_each(step.awaits, mark);
      std::ranges::for_each(rank.at_end, mark);
    }
  }

  const Shape& shape_;
  std::vector<Written> written_;
  std::map<Block, std::set<int>> writers_;         ///< ranks
  std::vector<std::vector<std::size_t>> depends_;  ///< of each step on steps of other ranks
  std::vector<std::vector<int>> starts_;           ///< the ranks whose own buffers it touches
  std::vector<Place> places_;
  std::vector<std::vector<std::size_t>> steps_of_;  ///< by rank
  std::map<Block, Replayed> blocks_;
  std::map<std::size_t, std::vector<const Replayed*>> reused_;  ///< by the first step to write
  /// By the owner of buffers and who touched them: the last steps that did.
  std::map<std::pair<int, int>, std::map<Phase, std::size_t>> visitors_;
  Schedule schedule_;
};

Schedule ScheduleWriter::schedule() const { return Waits(*this).build(); }

std::vector<Block> part_of_each(const ScheduleWriter& writer) {
  std::vector<Block> parts;
  const bool has_shares = writer.shape().shares > 1;
  for (int rank = 0; rank < writer.ranks(); ++rank)
    parts.push_back(writer.output(rank, has_shares ? rank : 0));
  return parts;
}

void place_own_blocks(ScheduleWriter& writer) {
  for (int rank = 0; rank < writer.ranks(); ++rank)
    writer.copy(writer.output(rank, rank), writer.input(rank));
}

void combine_each(ScheduleWriter& writer, const std::vector<Block>& results) {
  const int ranks = writer.ranks();
  // What the others need first of all: they start with it.
  for (int rank = 0; rank < ranks; ++rank)
    for (int distance = 1; distance < ranks; ++distance)
      (void)writer.share(writer.input(rank, (rank + distance) % ranks));
  for (int block = 0; block < ranks; ++block) {
    std::vector<Block> sources;
    for (int rank = 0; rank < ranks; ++rank) {
      const Block input = writer.input(rank, block);
      sources.push_back(rank == block ? input : writer.share(input));
    }
    writer.combine_by(block, results[static_cast<std::size_t>(block)], std::move(sources), true);
  }
}

}  // namespace colltune
