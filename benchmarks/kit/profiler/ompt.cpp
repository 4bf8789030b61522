// Records the parallel regions of a program built by clang: a tool for libomp's tools interface (OMPT).
//
// OMPT reports regions, barriers, locks and tasks, but not how long it takes to create a task or to fetch a chunk. The
// library is therefore also preloaded, and intercepts the few __kmpc_* functions that do these.
#include <cinttypes>
#include <cstddef>

#include "next.hpp"
#include "ompt_interface.h"
#include "recorder.hpp"

using namespace mpet;

namespace {

// ---- regions

void on_parallel_begin(ompt_data_t*, const void*, ompt_data_t* parallel, unsigned, int flags, const void* call_site) {
    parallel->ptr = flags & ompt_parallel_league ? nullptr : open_team(call_site, nullptr);
}

void on_parallel_end(ompt_data_t* parallel, ompt_data_t*, int, const void*) {
    close_team(static_cast<Team*>(parallel->ptr));
}

// The implicit task's data is 0 in a recorded region. In a nested region it is 1 + the thread's previous nesting.
void begin_implicit_task(ompt_data_t* parallel, ompt_data_t* task, unsigned size, unsigned index) {
    Team* team = parallel != nullptr ? static_cast<Team*>(parallel->ptr) : nullptr;
    if (team != nullptr) {
        task->value = 0;
        take_seat(*team, static_cast<int>(index), static_cast<int>(size));
    } else {
        task->value = 1 + static_cast<std::uint64_t>(here.nesting);
        enter_nested_region(static_cast<int>(size));
    }
}

// Only the end of the master's implicit task marks the end of the thread's share. For the other threads this event
// comes after the end of the region.
void end_implicit_task(const ompt_data_t* task) {
    if (task->value != 0) {
        here.nesting = static_cast<Nesting>(task->value - 1);
    } else if (seat_is_valid() && here.seat == here.team->seats) {
        reach_region_end();
    }
}

void on_implicit_task(int endpoint, ompt_data_t* parallel, ompt_data_t* task, unsigned size, unsigned index, int flags) {
    if ((flags & ompt_task_initial) || !recording) return;
    if (endpoint == ompt_scope_begin) {
        begin_implicit_task(parallel, task, size, index);
    } else {
        end_implicit_task(task);
    }
}

#if MPET_PROBES

// ---- waiting

bool is_task_wait(int kind) { return kind == ompt_sync_region_taskwait || kind == ompt_sync_region_taskgroup; }

// The end of the region's final barrier is reported without parallel data. The thread then stays at the barrier until
// the master closes the team.
void on_sync_region(int kind, int endpoint, ompt_data_t* parallel, ompt_data_t*, const void*) {
    Seat* seat = is_task_wait(kind) || parallel == nullptr ? nullptr : current_seat();
    if (seat == nullptr) return;
    if (endpoint == ompt_scope_begin) {
        seat->arrive(mpet_now());
    } else if (seat->state() == waits_at_barrier) {
        seat->leave_barrier(mpet_now());
    }
}

// The region of a task group begins with its body, so only this event shows when the thread waits.
void on_sync_region_wait(int kind, int endpoint, ompt_data_t*, ompt_data_t*, const void*) {
    Seat* seat = is_task_wait(kind) ? current_seat() : nullptr;
    if (seat == nullptr) return;
    if (endpoint == ompt_scope_begin) {
        seat->enter(waits_for_tasks, mpet_now());
    } else if (seat->state() == waits_for_tasks) {
        seat->leave(mpet_now());
    }
}

// A test for a lock does not wait, and if it fails, no further event is reported.
bool is_test(int kind) { return kind == ompt_mutex_test_lock || kind == ompt_mutex_test_nest_lock; }

void on_mutex_acquire(int kind, unsigned, unsigned, std::uint64_t, const void*) {
    Seat* seat = is_test(kind) ? nullptr : locking_seat();
    if (seat != nullptr) seat->enter(MPET_LOCK, mpet_now());
}

void leave_lock() {
    Seat* seat = locking_seat();
    if (seat != nullptr && seat->state() == MPET_LOCK) seat->leave(mpet_now());
}

void on_mutex_acquired(int, std::uint64_t, const void*) { leave_lock(); }

// Reported with ompt_scope_begin when the thread acquires a nestable lock that it already owns.
void on_nest_lock(int endpoint, std::uint64_t, const void*) {
    if (endpoint == ompt_scope_begin) leave_lock();
}

void on_work(int kind, int, ompt_data_t*, ompt_data_t*, std::uint64_t, const void*) {
    Seat* seat = kind == ompt_work_sections ? current_seat() : nullptr;
    if (seat != nullptr) seat->constructs |= took_sections;
}

// ---- tasks: an explicit task's data holds its state and, once it has begun, the interrupted states

constexpr std::uint64_t task_created = UINT64_C(1) << 63;
constexpr std::uint64_t task_ready = UINT64_C(1) << 62;
constexpr std::uint64_t task_begun = UINT64_C(1) << 61;
// The creator executes the task like a function call, so the task has no states.
constexpr std::uint64_t task_undeferred = UINT64_C(1) << 60;
constexpr std::uint64_t task_states = task_undeferred - 1;

void on_task_create(ompt_data_t*, const void*, ompt_data_t* task, int flags, int has_dependences, const void*) {
    Seat* seat = flags & ompt_task_explicit ? current_seat() : nullptr;
    if (seat == nullptr) return;
    seat->constructs |= created_tasks;
    if ((flags & ompt_task_undeferred) && !has_dependences) {
        task->value = task_created | task_undeferred;
        seat->go_on_as_use();  // in a team of one, the call that would queue a task executes it
        return;
    }
    task->value = task_created;
    if (has_dependences) return;  // it may have to wait
    task->value |= task_ready;
    seat->team->add_ready_task(mpet_now());
}

void begin_task(Seat& seat, ompt_data_t* task) {
    if (task->value & task_undeferred) {
        task->value |= task_begun;
        return;
    }
    const std::uint64_t interrupted = seat.begin_task(mpet_now());
    if (task->value & task_ready) seat.team->take_ready_task();
    task->value = task_created | task_begun | (interrupted & task_states);
}

void end_task(Seat& seat, ompt_data_t* task) {
    if (task == nullptr || !(task->value & task_begun) || (task->value & task_undeferred)) return;
    seat.end_task(task->value & task_states, mpet_now());
    task->value = task_created;
}

// A switch begins the next task, unless it returns to what the thread had interrupted: an implicit task, or a task that
// has begun. Such a return ends a part of an untied task. The task's next part begins later, on any thread.
void on_task_schedule(ompt_data_t* prior, int status, ompt_data_t* next) {
    Seat* seat = current_seat();
    if (seat == nullptr) return;
    if (status == ompt_task_complete || status == ompt_task_cancel || status == ompt_task_detach) {
        end_task(*seat, prior);
    } else if (status == ompt_task_switch || status == ompt_task_yield) {
        const bool begins = next != nullptr && (next->value & task_created) && !(next->value & task_begun);
        if (begins) begin_task(*seat, next);
        else end_task(*seat, prior);
    }
}

#endif

// ---- the tool

const char* missing_event = nullptr;

struct Registration {
    int event;
    const char* name;
    ompt_callback_t callback;
};

#define REGISTER(name, function) \
    Registration { ompt_callback_##name, #name, reinterpret_cast<ompt_callback_t>(function) }

const Registration registrations[] = {
    REGISTER(parallel_begin, on_parallel_begin),
    REGISTER(parallel_end, on_parallel_end),
    REGISTER(implicit_task, on_implicit_task),
#if MPET_PROBES
    REGISTER(sync_region, on_sync_region),
    REGISTER(sync_region_wait, on_sync_region_wait),
    REGISTER(mutex_acquire, on_mutex_acquire),
    REGISTER(mutex_acquired, on_mutex_acquired),
    REGISTER(nest_lock, on_nest_lock),
    REGISTER(work, on_work),
    REGISTER(task_create, on_task_create),
    REGISTER(task_schedule, on_task_schedule),
#endif
};

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t*) {
    const auto set_callback = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
    if (set_callback == nullptr) return 0;
    for (const Registration& registration : registrations) {
        if (set_callback(registration.event, registration.callback) != ompt_set_always) missing_event = registration.name;
    }
    return 1;
}

void finalize(ompt_data_t*) {}

ompt_start_tool_result_t tool{initialize, finalize, {0}};

// The runtime starts its tool only before the first region, but the program's time begins here.
__attribute__((constructor)) void begin_program() { note_program_begin(); }
__attribute__((destructor)) void end_program() { write_recording("libomp", missing_event); }

}  // namespace

// The runtime calls this function before the first region.
EXPORT ompt_start_tool_result_t* ompt_start_tool(unsigned, const char*) {
    start_recording();
    return recording ? &tool : nullptr;
}

#if MPET_PROBES

// ---- in front of libomp

struct ident_t;

namespace {

// Returns the construct bit for a schedule that fetches chunks. The schedules 33 and 34 are static, 65 and 66 are their
// ordered forms. Modifiers are in the high bits.
std::uint64_t chunks_of(std::int32_t schedule) {
    const std::int32_t kind = schedule & 0x1fffffff;
    return kind == 33 || kind == 34 || kind == 65 || kind == 66 ? 0u : static_cast<std::uint64_t>(fetched_chunks);
}

// A span from the allocation of a task until it is queued.
class CreationSpan : public Span {
public:
    CreationSpan() : CreationSpan(current_seat()) {}

private:
    explicit CreationSpan(Seat* seat) : Span(seat, MPET_CREATION, seat != nullptr ? seat->creation_begin_ns : 0, 0) {}
};

}  // namespace

#define DISPATCH(suffix, Index, Step)                                                                               \
    EXPORT void __kmpc_dispatch_init_##suffix(ident_t* where, std::int32_t thread, std::int32_t schedule,           \
                                              Index begin, Index end, Step step, Step chunk) {                      \
        const Span span(current_seat(), MPET_DISTRIBUTION, chunks_of(schedule));                                    \
        NEXT(__kmpc_dispatch_init_##suffix)(where, thread, schedule, begin, end, step, chunk);                      \
    }                                                                                                               \
    EXPORT int __kmpc_dispatch_next_##suffix(ident_t* where, std::int32_t thread, std::int32_t* last, Index* begin, \
                                             Index* end, Step* step) {                                              \
        const Span span(current_seat(), MPET_DISTRIBUTION);                                                         \
        return NEXT(__kmpc_dispatch_next_##suffix)(where, thread, last, begin, end, step);                          \
    }
DISPATCH(4, std::int32_t, std::int32_t)
DISPATCH(4u, std::uint32_t, std::int32_t)
DISPATCH(8, std::int64_t, std::int64_t)
DISPATCH(8u, std::uint64_t, std::int64_t)

// Waiting for another iteration is imbalance, as in the middleware's wavefront.
EXPORT void __kmpc_doacross_wait(ident_t* where, std::int32_t thread, const std::int64_t* iteration) {
    const Span span(current_seat(), MPET_IMBALANCE, waited_for_iterations);
    NEXT(__kmpc_doacross_wait)(where, thread, iteration);
}

// Task creation begins here, and is charged by the call that queues the task. A task that is not deferred has no such
// call, and costs one reading of the clock.
EXPORT void* __kmpc_omp_task_alloc(ident_t* where, std::int32_t thread, std::int32_t flags, std::size_t task_size,
                                   std::size_t shared_size, void* entry) {
    if (Seat* seat = current_seat()) seat->creation_begin_ns = mpet_now();
    return NEXT(__kmpc_omp_task_alloc)(where, thread, flags, task_size, shared_size, entry);
}

EXPORT std::int32_t __kmpc_omp_task(ident_t* where, std::int32_t thread, void* task) {
    const CreationSpan span;
    return NEXT(__kmpc_omp_task)(where, thread, task);
}

EXPORT std::int32_t __kmpc_omp_task_with_deps(ident_t* where, std::int32_t thread, void* task, std::int32_t count,
                                              void* dependences, std::int32_t more_count, void* more) {
    const CreationSpan span;
    return NEXT(__kmpc_omp_task_with_deps)(where, thread, task, count, dependences, more_count, more);
}

EXPORT void __kmpc_taskloop(ident_t* where, std::int32_t thread, void* task, int deferrable, std::uint64_t* begin,
                            std::uint64_t* end, std::int64_t step, int no_group, int schedule, std::uint64_t grain,
                            void* copy) {
    const CreationSpan span;
    NEXT(__kmpc_taskloop)(where, thread, task, deferrable, begin, end, step, no_group, schedule, grain, copy);
}

EXPORT void __kmpc_taskloop_5(ident_t* where, std::int32_t thread, void* task, int deferrable, std::uint64_t* begin,
                              std::uint64_t* end, std::int64_t step, int no_group, int schedule, std::uint64_t grain,
                              int modifier, void* copy) {
    const CreationSpan span;
    NEXT(__kmpc_taskloop_5)(where, thread, task, deferrable, begin, end, step, no_group, schedule, grain, modifier, copy);
}

#endif
