// JobTimeline: when the tasks of a job run, by a model: streams, waits, meetings of ranks, and what they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tokamak {

/// A part of a resource that an activity takes at full speed, or a task holds: 0 < share <= capacity.
struct ResourceUse {
  int32_t resource = 0;
  double share = 0;
};

/// What takes time: a kernel, or a communication that several tasks are parts of. First a latency that nothing slows
/// down, then work that takes `seconds` alone.
struct Activity {
  double latency = 0;
  double seconds = 0;
  std::vector<ResourceUse> uses = {};  ///< of the work; each resource once
  int32_t parties = 1;                 ///< tasks without which it does not start
};

/// A step of a rank's stream.
struct JobTask {
  int32_t track = 0;                     ///< which stream of which rank
  double issued = 0;                     ///< when the host has given it to the stream, in seconds
  std::vector<int32_t> after = {};       ///< earlier tasks that it waits for, that before it on its stream included
  std::vector<int32_t> activities = {};  ///< that it is a party of; it ends with the last of them
  std::vector<ResourceUse> holds = {};   ///< from its start to its end, at whatever speed
};

/// Activities and tasks by number; a task comes after all those that it waits for.
struct Job {
  std::vector<double> capacities;  ///< per resource, positive
  std::vector<Activity> activities;
  std::vector<JobTask> tasks;
};

struct TaskSpan {
  double start = 0;  ///< when all that it waits for has ended, in seconds
  double end = 0;
};

struct JobTimes {
  std::vector<TaskSpan> tasks;
  std::vector<TaskSpan> activities;  ///< start: when its last party has come
  std::vector<double> busy;          ///< per resource: of its capacity, the seconds that work took
  std::vector<int32_t> stuck;        ///< tasks that never end: each has started, and its other parties never come
  double seconds = 0;                ///< the end of the last task
};

/// An activity starts when all its parties have. Sharing: the speeds of all activities at work are raised together,
/// from 0 up to 1; where a resource is used up, those that use it stay at the speed that they have, and the others go
/// on (max-min fairness). Tasks that hold a resource leave less of it; a hundredth of its capacity stays in any case.
///
/// Hence an activity is never faster than alone, and no resource does more than its capacity. A wait that is added may
/// make a job shorter: what runs beside the longest chain slows it down, and a wait can hold that back.
/// Deterministic. Takes time that grows with (tasks) x (activities at work). Errors: none but of memory.
JobTimes timesOf(const Job& job);

}  // namespace tokamak
