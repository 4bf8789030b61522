// The middleware: everything that a program needs to execute and account for parallel sections.
#pragma once

#include "lock.hpp"
#include "loops.hpp"
#include "pipeline.hpp"
#include "task_graph.hpp"
#include "tasks.hpp"
#include "team.hpp"
#include "wavefront.hpp"
