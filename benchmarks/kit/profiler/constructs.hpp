// The OpenMP constructs observed in a region, as bits. They determine the strategy of the workload.
#pragma once

#include <cstdint>

namespace mpet {

enum Construct : std::uint64_t {
    created_tasks = 1,
    fetched_chunks = 2,
    waited_for_iterations = 4,
    took_sections = 8,
    nested_parallel = 16
};

}  // namespace mpet
