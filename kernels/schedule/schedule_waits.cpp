// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "schedule_writer.h"
#include "step_blocks.h"

namespace colltune {

/// Derives who waits for whom, and builds the schedule from that.
class ScheduleWriter::Waits {
 public:
  explicit Waits(const ScheduleWriter& writer)
      : shape_(writer.shape_),
        written_(send_early(shape_, without_unread_copies(writer.written_))),
        writers_(writers_of(shape_, written_)),
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
    std::vector<std::size_t> readers;  ///< since that write
    std::size_t first = none;          ///< first step that touched the block
    std::map<int, std::size_t> last_of_rank;
  };
  struct Place {
    WavePhase phase = WavePhase::before_waits;
    int position = 0;
  };

  [[nodiscard]] Block memory_of(const Block& block) const {
    return colltune::memory_of(shape_, block);
  }

  /// Drops copies that were made for ranks of the same node but are read only by ranks of other
  /// nodes: messages send the original.
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

  /// Moves every send to just after the step that produced its data: the sender need not wait
  /// there, while the receiver may already be waiting. Exception: if another rank writes the block
  /// that is sent, the sender waits until the message has left (look_at_message). Such a send stays
  /// in place, since further ahead that wait could last forever.
  static std::vector<Written> send_early(const ScheduledCall& shape,
                                         const std::vector<Written>& written) {
    const std::map<Block, std::set<int>> writers = writers_of(shape, written);
    std::map<Block, std::size_t> makers;
    std::vector<std::vector<std::size_t>> sends_behind(written.size() + 1);
    for (std::size_t i = 0; i < written.size(); ++i) {
      const auto& [step, rank, message] = written[i];
      if (step.kind == StepKind::send) {
        const Block sent = colltune::memory_of(shape, step.from.front());
        const auto maker = makers.find(sent);
        const std::size_t behind = maker == makers.end() ? 0 : maker->second + 1;
        sends_behind[is_foreign(writers, sent, rank) ? i : behind].push_back(i);
      }
      for_each_written(step,
                       [&](const Block& block) { makers[colltune::memory_of(shape, block)] = i; });
    }
    std::vector<Written> ordered;
    for (std::size_t i = 0; i <= written.size(); ++i) {
      if (i > 0 && written[i - 1].step.kind != StepKind::send) ordered.push_back(written[i - 1]);
      for (const std::size_t send : sends_behind[i]) ordered.push_back(written[send]);
    }
    return ordered;
  }

  static std::map<Block, std::set<int>> writers_of(const ScheduledCall& shape,
                                                   const std::vector<Written>& written) {
    std::map<Block, std::set<int>> writers;
    for (const auto& [step, rank, message] : written)
      for_each_written(step, [&, by = rank](const Block& block) {
        writers[colltune::memory_of(shape, block)].insert(by);
      });
    return writers;
  }

  /// Whether a rank other than `rank` writes `block`.
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

  /// Finds the dependencies between steps within a wave by replaying the steps in their common
  /// order.
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
      schedule_.depth = std::max(schedule_.depth, own);
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
    Replayed& replayed = blocks_[memory_of(block)];
    if (replayed.first == none) replayed.first = i;
    replayed.last_of_rank[rank] = i;
    if (block.rank != rank && block.space != Space::scratch) starts_[i].push_back(block.rank);
    return replayed;
  }

  void depend(std::size_t i, std::size_t j) {
    if (written_[i].rank != written_[j].rank) depends_[i].push_back(j);
  }

  /// A rank's steps before the first one that waits for this wave are its phase before the waits.
  void place_steps() {
    std::vector<bool> has_rest(static_cast<std::size_t>(shape_.ranks));
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const auto rank = static_cast<std::size_t>(written_[i].rank);
      look_at_message(i);
      if (!depends_[i].empty() || !starts_[i].empty() || may_wait(written_[i].step))
        has_rest[rank] = true;
      const WavePhase phase = has_rest[rank] ? WavePhase::rest : WavePhase::before_waits;
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
      // The next rank to write that block learns only that this rank has passed the step, not that
      // the message has left. So the step must not end before it has left.
      step.is_awaited = is_foreign(writers_, memory_of(step.from.front()), rank);
    } else if (step.kind == StepKind::receive) {
      const Replayed& to = blocks_.at(memory_of(step.to));
      const bool is_own = to.last_of_rank.size() == 1;
      step.is_free_before = to.first == i && (step.to.space != Space::scratch || is_own);
    }
  }

  [[nodiscard]] Await await(std::size_t step, Lag lag) const {
    return {written_[step].rank, places_[step].phase, places_[step].position, lag};
  }

  void add_awaits(int rank) {
    Awaited awaited;  // in this wave, so far
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
          awaits.push_back({other, WavePhase::before_waits, 0, Lag::start_of_call});
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

  using Awaited = std::map<std::pair<int, WavePhase>, int>;

  /// Whether a rank that has done all waits of `awaited_in_all` in earlier waves already knows,
  /// when it reaches a step of `phase`, that `one` (of `slots` waves before) is done. A rank does
  /// the rest of wave w between the leads of waves w + 1 and w + 2.
  [[nodiscard]] bool is_known(const Await& one, WavePhase phase,
                              const Awaited& awaited_in_all) const {
    // Waves from the awaited one to the last one whose waits all come before this step.
    const int waves = shape_.slots - (phase == WavePhase::before_waits ? 2 : 1);
    const auto position = [&](WavePhase of) {
      const auto found = awaited_in_all.find({one.rank, of});
      return found == awaited_in_all.end() ? 0 : found->second;
    };
    const int early = position(WavePhase::before_waits);
    const int rest = position(WavePhase::rest);
    if (one.phase == WavePhase::before_waits)
      return rest > 0 || (early > 0 && waves >= 1) || early >= one.position;
    return (rest > 0 && waves >= 1) || rest >= one.position || (early > 0 && waves >= 2);
  }

  /// The first step that writes a scratch block waits for all steps that touched it when its slot
  /// was used before, unless the rank already knows that they are done.
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

  const ScheduledCall& shape_;
  std::vector<Written> written_;
  std::map<Block, std::set<int>> writers_;         ///< ranks
  std::vector<std::vector<std::size_t>> depends_;  ///< for each step, the steps of other ranks that
                                                   ///< it depends on
  std::vector<std::vector<int>> starts_;           ///< the ranks whose own buffers it touches
  std::vector<Place> places_;
  std::vector<std::vector<std::size_t>> steps_of_;  ///< by rank
  std::map<Block, Replayed> blocks_;
  std::map<std::size_t, std::vector<const Replayed*>> reused_;  ///< by the first step that writes
  /// By owner of the buffers and rank that touched them: the last steps that did.
  std::map<std::pair<int, int>, std::map<WavePhase, std::size_t>> visitors_;
  Schedule schedule_;
};

Schedule ScheduleWriter::schedule() const { return Waits(*this).build(); }

}  // namespace colltune
