// Records the parallel regions of an unmodified OpenMP program, in a preloaded library.
//
// A region is one `parallel` construct of the source. Each execution of an outermost region has a team, and each thread
// of the team has a seat with an account (mpet/accounting.h), so the parts of an execution add up to n * time to the
// nanosecond. When the program ends, the sums over all executions are written to the file named by MPET_PROFILE_OUT.
//
// This file is compiled twice: with MPET_PROBES=0 (clean pass) it records only the start, end and team size of a
// region. It is included by one source file of each library. It uses no exceptions, and allocates no memory inside a
// region.
#pragma once

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <mpet/accounting.h>
#include <mpet/clock.h>

#include "constructs.hpp"

#ifndef MPET_PROBES
#define MPET_PROBES 1
#endif

namespace mpet {
namespace {

constexpr bool probing = MPET_PROBES != 0;
constexpr int most_threads = 4096;

// A thread is in one of the parts, or it waits. The part of a wait is known only after the wait.
enum State : std::uint64_t { waits_for_tasks = MPET_PARTS, waits_at_barrier };

struct Region {
    const void* key;  // the address of its body if known, else its call site
    Region* next;
    char* object;                    // the file that contains the region
    std::uintptr_t call_site, body;  // addresses within that file; the body is 0 if unknown
    std::uint64_t executions, time_ns, thread_ns, constructs;
    std::uint64_t part_ns[MPET_PARTS];
    int largest_team;
};

struct Team;

struct alignas(128) Seat {
    mpet_account account;
    std::uint64_t states;  // a stack with four bits per state; the current state is in the lowest bits
    std::uint64_t constructs;
    std::uint64_t creation_begin_ns;  // start of the creation of the most recently allocated task
    std::uint64_t arrival_ns[4];  // at barrier number i % 4: no thread can be two barriers ahead
    unsigned barriers;
    int tasks_begun;  // tasks begun but not ended: the nesting depth of tasks
    Team* team;
    std::atomic<bool> present;

    std::uint64_t state() const { return states & 15; }
    // Sets the current state to use, so that the time since the last event is charged to use, too.
    void go_on_as_use() { states = (states & ~std::uint64_t{15}) | MPET_USE; }
    void open(Team& team_of_seat);
    void close_interval(std::uint64_t now);
    void charge_gap(std::uint64_t now);
    void enter(std::uint64_t state, std::uint64_t now);
    void leave(std::uint64_t now);
    void arrive(std::uint64_t now);
    void leave_barrier(std::uint64_t now);
    std::uint64_t begin_task(std::uint64_t now);
    void end_task(std::uint64_t interrupted, std::uint64_t now);
};

struct alignas(128) Team {
    Region* region;
    Team* next_free;
    std::uint64_t begin_ns;
    std::atomic<int> size;
    std::atomic<std::uint64_t> serial;  // odd while an execution is recorded
    alignas(128) std::atomic<std::int64_t> ready_tasks;
    std::atomic<std::uint64_t> ready_since_ns;
    Seat seats[most_threads];

    std::uint64_t last_arrival(unsigned barrier) const;
    void add_ready_task(std::uint64_t now);
    void take_ready_task() { ready_tasks.fetch_sub(1, std::memory_order_relaxed); }
};

// The seat of the calling thread. Inside a nested region the thread does not take part in the constructs of its team.
// If the nested team consists of this thread alone, its waits for locks still count in its own account.
enum class Nesting { none, alone, parallel };

struct Place {
    Team* team;
    Seat* seat;  // belongs to another thread if the team's serial number has changed
    std::uint64_t serial;
    Nesting nesting;
    bool at_barrier;  // waiting at a barrier, not executing a task there
};

constexpr Place nowhere{nullptr, nullptr, 0, Nesting::none, false};
__attribute__((tls_model("initial-exec"))) thread_local Place here = nowhere;

inline bool seat_is_valid() { return here.team != nullptr && here.team->serial.load(std::memory_order_relaxed) == here.serial; }

inline Seat* current_seat() { return seat_is_valid() && here.nesting == Nesting::none ? here.seat : nullptr; }

inline Seat* locking_seat() { return seat_is_valid() && here.nesting != Nesting::parallel ? here.seat : nullptr; }

void Seat::open(Team& team_of_seat) {
    team = &team_of_seat;
    mpet_account_open(&account, team->begin_ns, MPET_DISTRIBUTION);
    mpet_charge_at(&account, MPET_DISTRIBUTION, mpet_now());
    states = MPET_USE;
    constructs = 0;
    barriers = 0;
    tasks_begun = 0;
    present.store(true, std::memory_order_release);
}

void Seat::close_interval(std::uint64_t now) {
    if (state() < waits_for_tasks) {
        mpet_charge_at(&account, static_cast<mpet_part>(state()), now);
    } else {
        charge_gap(now);
    }
}

// Charges a wait in which this thread may execute tasks: to switching from the time at which tasks were ready, and as
// idle time before.
void Seat::charge_gap(std::uint64_t now) {
    const mpet_part idle = team->size.load(std::memory_order_relaxed) > 1 ? MPET_IMBALANCE : MPET_JOIN;
    if (team->ready_tasks.load(std::memory_order_relaxed) > 0) {
        const std::uint64_t ready_ns = team->ready_since_ns.load(std::memory_order_relaxed);
        mpet_charge_at(&account, idle, ready_ns < now ? ready_ns : now);
        mpet_charge_at(&account, MPET_SWITCHING, now);
    } else {
        mpet_charge_at(&account, idle, now);
    }
}

void Seat::enter(std::uint64_t state, std::uint64_t now) {
    close_interval(now);
    states = states << 4 | state;
}

void Seat::leave(std::uint64_t now) {
    close_interval(now);
    states >>= 4;
}

void Seat::arrive(std::uint64_t now) {
    here.at_barrier = true;
    enter(waits_at_barrier, now);
    arrival_ns[barriers % 4] = account.last_ns;
}

void Seat::leave_barrier(std::uint64_t now) {
    here.at_barrier = false;
    mpet_charge_wait(&account, team->last_arrival(barriers), now);
    barriers++;
    states >>= 4;
}

// Returns the interrupted states, which end_task() restores.
inline std::uint64_t Seat::begin_task(std::uint64_t now) {
    close_interval(now);
    here.at_barrier = false;
    const std::uint64_t interrupted = states;
    states = MPET_USE;
    tasks_begun++;
    return interrupted;
}

// Ends a task. A thread that executed a task at a barrier arrives there only now.
inline void Seat::end_task(std::uint64_t interrupted, std::uint64_t now) {
    close_interval(now);
    states = interrupted;
    tasks_begun--;
    here.at_barrier = state() == waits_at_barrier;
    if (here.at_barrier) arrival_ns[barriers % 4] = account.last_ns;
}

std::uint64_t Team::last_arrival(unsigned barrier) const {
    std::uint64_t last = begin_ns;
    const int threads = size.load(std::memory_order_relaxed);
    for (int i = 0; i < threads && i < most_threads; i++) {
        const Seat& seat = seats[i];
        if (!seat.present.load(std::memory_order_acquire)) continue;
        const std::uint64_t arrival = __atomic_load_n(&seat.arrival_ns[barrier % 4], __ATOMIC_RELAXED);
        if (arrival > last) last = arrival;
    }
    return last;
}

inline void Team::add_ready_task(std::uint64_t now) {
    if (ready_tasks.fetch_add(1, std::memory_order_relaxed) == 0) ready_since_ns.store(now, std::memory_order_relaxed);
}

// ---- all regions and teams of the program

class Mutex {
public:
    Mutex() { pthread_mutex_lock(&mutex); }
    ~Mutex() { pthread_mutex_unlock(&mutex); }
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

private:
    static inline pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

constexpr std::size_t region_buckets = 512;
std::atomic<Region*> regions[region_buckets];
Team* free_teams = nullptr;
bool recording = false;
std::uint64_t program_begin_ns = 0;  // 0 = not recorded yet

// The time in which at least one region was executed. Several threads of the program may execute regions
// simultaneously.
struct Covered {
    int open_regions = 0;
    std::uint64_t since_ns = 0, until_ns = 0, sum_ns = 0;

    void end_region(std::uint64_t end_ns) {
        if (end_ns > until_ns) until_ns = end_ns;
        if (--open_regions == 0) sum_ns += until_ns - since_ns;
    }
} covered;

// Converts a region's addresses to addresses within the file that contains it, independent of the file's load address.
int find_object(dl_phdr_info* info, std::size_t, void* context) {
    Region& region = *static_cast<Region*>(context);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto& segment = info->dlpi_phdr[i];
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || region.call_site < begin || region.call_site >= begin + segment.p_memsz) continue;
        region.object = strdup(info->dlpi_name);
        region.call_site -= info->dlpi_addr;
        if (region.body != 0) region.body -= info->dlpi_addr;
        return 1;
    }
    return 0;
}

// Looks up the file immediately, because the library that contains the region may be unloaded before the program ends.
Region* make_region(const void* call_site, const void* body) {
    Region* region = static_cast<Region*>(std::calloc(1, sizeof(Region)));
    if (region == nullptr) return nullptr;
    region->key = body != nullptr ? body : call_site;
    region->call_site = reinterpret_cast<std::uintptr_t>(call_site);
    region->body = reinterpret_cast<std::uintptr_t>(body);
    dl_iterate_phdr(find_object, region);
    return region;
}

Region* find_region(const void* call_site, const void* body) {
    const void* key = body != nullptr ? body : call_site;
    std::atomic<Region*>& bucket = regions[(reinterpret_cast<std::uintptr_t>(key) >> 2) % region_buckets];
    const auto search = [&]() -> Region* {
        for (Region* region = bucket.load(std::memory_order_acquire); region != nullptr; region = region->next) {
            if (region->key == key) return region;
        }
        return nullptr;
    };
    if (Region* region = search()) return region;
    const Mutex lock;
    if (Region* region = search()) return region;
    Region* region = make_region(call_site, body);
    if (region == nullptr) return nullptr;
    region->next = bucket.load(std::memory_order_relaxed);
    bucket.store(region, std::memory_order_release);
    return region;
}

Team* free_team() {
    const Mutex lock;
    Team* team = free_teams;
    if (team != nullptr) free_teams = team->next_free;
    return team;
}

// Returns a team for reuse, or a new one. Teams are never unmapped, because an idle thread may still read its former
// seat.
Team* take_team() {
    if (Team* team = free_team()) return team;
    void* memory = mmap(nullptr, sizeof(Team), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Team*>(memory);  // a new team is all zeros
}

void give_back_team(Team* team) {
    const Mutex lock;
    team->next_free = free_teams;
    free_teams = team;
}

// ---- an execution of a region

// Counts a region as being executed. Returns whether it is the only one.
bool enters_first_region() {
    const Mutex lock;
    return covered.open_regions++ == 0;
}

// Called when the master is about to start the region. Returns null if the region must not be recorded, because it is
// nested or recording is off.
Team* open_team(const void* call_site, const void* body) {
    if (!recording || seat_is_valid() || here.nesting != Nesting::none) return nullptr;
    Region* region = find_region(call_site, body);
    Team* team = region != nullptr ? take_team() : nullptr;
    if (team == nullptr) return nullptr;
    team->region = region;
    team->size.store(0, std::memory_order_relaxed);
    team->ready_tasks.store(0, std::memory_order_relaxed);
    team->serial.fetch_add(1, std::memory_order_release);
    const bool is_first = enters_first_region();
    team->begin_ns = mpet_now();
    if (is_first) covered.since_ns = team->begin_ns;
    return team;
}

void take_seat(Team& team, int id, int size) {
    if (id >= most_threads) return;
    if (id == 0) team.size.store(size, std::memory_order_relaxed);
    here = {&team, &team.seats[id], team.serial.load(std::memory_order_relaxed), Nesting::none, false};
    if constexpr (probing) here.seat->open(team);
}

// Called when the thread has completed its share. Only the region's final barrier remains, and tasks that the thread
// may execute there.
void reach_region_end() {
    if constexpr (probing) {
        if (Seat* seat = current_seat()) {
            seat->states = seat->state();
            if (seat->state() != waits_at_barrier) seat->arrive(mpet_now());
        }
    }
}

void add_accounts(Team& team, std::uint64_t last_arrival, std::uint64_t end_ns) {
    Region& region = *team.region;
    const int size = team.size.load(std::memory_order_relaxed);
    mpet_account absent;
    for (int i = 0; i < size; i++) {
        mpet_account* account = &absent;
        if (i < most_threads && team.seats[i].present.load(std::memory_order_acquire)) {
            account = &team.seats[i].account;
            mpet_charge_wait(account, last_arrival, end_ns);
            region.constructs |= team.seats[i].constructs;
            team.seats[i].present.store(false, std::memory_order_relaxed);
        } else {
            mpet_account_absent(&absent, team.begin_ns, end_ns);
        }
        for (int part = 0; part < MPET_PARTS; part++) region.part_ns[part] += account->ns[part];
    }
}

std::uint64_t last_event(const Team& team) {
    std::uint64_t last = team.begin_ns;
    for (int i = 0; i < team.size.load(std::memory_order_relaxed) && i < most_threads; i++) {
        const Seat& seat = team.seats[i];
        if (seat.present.load(std::memory_order_acquire) && seat.account.last_ns > last) last = seat.account.last_ns;
    }
    return last;
}

// Called by the master after the runtime has joined the team. The end is later than the master's reading if the clock
// of another core is a tick ahead.
void close_team(Team* team) {
    if (team == nullptr) return;
    const std::uint64_t now = mpet_now();
    here = nowhere;
    team->serial.fetch_add(1, std::memory_order_acq_rel);
    const std::uint64_t last = probing ? last_event(*team) : now;
    const std::uint64_t end_ns = last > now ? last : now;
    const int size = team->size.load(std::memory_order_relaxed);
    {
        const Mutex lock;
        Region& region = *team->region;
        region.executions++;
        region.time_ns += end_ns - team->begin_ns;
        region.thread_ns += static_cast<std::uint64_t>(size) * (end_ns - team->begin_ns);
        if (size > region.largest_team) region.largest_team = size;
        covered.end_region(end_ns);
        if constexpr (probing) add_accounts(*team, last, end_ns);
    }
    give_back_team(team);
}

// Called when the thread enters a nested region of `size` threads. Returns its place, which the caller restores into
// `here` afterwards. A thread at a barrier cannot have started the region: the runtime has taken it from another team,
// and that team's master may not have recorded the end of its region yet.
Place enter_nested_region(int size) {
    if (here.at_barrier) here = nowhere;
    const Place outer = here;
    if constexpr (probing) {
        Seat* seat = size > 1 ? locking_seat() : nullptr;
        if (seat != nullptr) seat->constructs |= nested_parallel;
    }
    if (here.nesting != Nesting::parallel) here.nesting = size > 1 ? Nesting::parallel : Nesting::alone;
    return outer;
}

// Charges the thread's time to one part during the lifetime of the object. If the task in which it was created has
// ended meanwhile (a part of an untied task ends inside the call that queues its next part), the thread has already
// returned to the states that the task had interrupted, and the destructor leaves them unchanged.
class Span {
public:
    Span(Seat* seat, mpet_part part, std::uint64_t construct = 0) : Span(seat, part, seat != nullptr ? mpet_now() : 0, construct) {}
    Span(Seat* seat, mpet_part part, std::uint64_t begin_ns, std::uint64_t construct)
        : seat_(seat), tasks_begun_(seat != nullptr ? seat->tasks_begun : 0) {
        if (seat_ == nullptr) return;
        seat_->enter(part, begin_ns);
        seat_->constructs |= construct;
    }
    ~Span() {
        if (seat_ != nullptr && seat_->tasks_begun >= tasks_begun_) seat_->leave(mpet_now());
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

private:
    Seat* const seat_;
    const int tasks_begun_;
};

// The thread waits at a barrier of its team during the lifetime of the object.
class BarrierWait {
public:
    BarrierWait() : seat_(current_seat()) {
        if (seat_ != nullptr) seat_->arrive(mpet_now());
    }
    ~BarrierWait() {
        if (seat_ != nullptr) seat_->leave_barrier(mpet_now());
    }
    BarrierWait(const BarrierWait&) = delete;
    BarrierWait& operator=(const BarrierWait&) = delete;

private:
    Seat* const seat_;
};

// The thread waits for tasks, and may execute some, during the lifetime of the object.
class TaskWait {
public:
    TaskWait() : seat_(current_seat()) {
        if (seat_ != nullptr) seat_->enter(waits_for_tasks, mpet_now());
    }
    ~TaskWait() {
        if (seat_ != nullptr) seat_->leave(mpet_now());
    }
    TaskWait(const TaskWait&) = delete;
    TaskWait& operator=(const TaskWait&) = delete;

private:
    Seat* const seat_;
};

// ---- begin and end of the program

// Returns whether mpet-profile started this process. Processes started by the program are not recorded.
bool is_profiled_process() {
    const char* pid = std::getenv("MPET_PROFILE_PID");
    return pid != nullptr && std::getenv("MPET_PROFILE_OUT") != nullptr && std::strtol(pid, nullptr, 10) == getpid();
}

void note_program_begin() {
    if (program_begin_ns != 0 || !is_profiled_process()) return;
    mpet_clock_start();
    program_begin_ns = mpet_now();
}

void start_recording() {
    note_program_begin();
    recording = program_begin_ns != 0;
}

// Charges the absent threads of executions with a smaller team than the largest one: they waited for work.
void charge_absent_threads(Region& region) {
    const std::uint64_t largest = static_cast<std::uint64_t>(region.largest_team) * region.time_ns;
    region.part_ns[MPET_DISTRIBUTION] += largest - region.thread_ns;
}

void write_region(FILE* file, Region& region) {
    if constexpr (probing) charge_absent_threads(region);
    std::fprintf(file, "region\t%" PRIxPTR "\t%" PRIxPTR "\t%d\t%" PRIu64 "\t%" PRIu64, region.call_site, region.body,
                 region.largest_team, region.executions, region.time_ns);
    for (int part = 0; part < MPET_PARTS; part++) std::fprintf(file, "\t%" PRIu64, region.part_ns[part]);
    std::fprintf(file, "\t%" PRIu64 "\t%s\n", region.constructs, region.object != nullptr ? region.object : "");
}

// Writes the name of a loaded BLAS library. OpenBLAS may have threads of its own, which are in no region. Debian also
// names it libblas.so.3.
int write_library(dl_phdr_info* info, std::size_t, void* file) {
    const char* slash = std::strrchr(info->dlpi_name, '/');
    if (std::strstr(slash != nullptr ? slash : info->dlpi_name, "blas") != nullptr) std::fprintf(static_cast<FILE*>(file), "library\t%s\n", info->dlpi_name);
    return 0;
}

// Writes the recording. A line "unstarted" means that the program has not started its OpenMP runtime, or that the
// runtime reports nothing.
void write_recording(const char* runtime, const char* missing_event = nullptr) {
    if (program_begin_ns == 0 || !is_profiled_process()) return;
    FILE* file = std::fopen(std::getenv("MPET_PROFILE_OUT"), "w");
    if (file == nullptr) return;
    std::fprintf(file, "program\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", runtime, mpet_clock_name(), mpet_now() - program_begin_ns,
                 covered.sum_ns);
    program_begin_ns = 0;
    if (!recording) std::fprintf(file, "unstarted\n");
    recording = false;
    dl_iterate_phdr(write_library, file);
    if (missing_event != nullptr) std::fprintf(file, "missing\t%s\n", missing_event);
    for (std::atomic<Region*>& bucket : regions) {
        for (Region* region = bucket.load(); region != nullptr; region = region->next) {
            if (region->executions > 0) write_region(file, *region);
        }
    }
    std::fprintf(file, "end\n");
    std::fclose(file);
}

}  // namespace
}  // namespace mpet
