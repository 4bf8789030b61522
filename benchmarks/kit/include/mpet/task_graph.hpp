// A graph of tasks: each task starts when all its predecessors have ended. The graph must not contain a cycle.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tasks.hpp"

namespace mpet {

class TaskGraph {
public:
    using Node = std::size_t;

    Node add(std::function<void()> work) {
        nodes_.push_back(std::make_unique<State>());
        nodes_.back()->work = std::move(work);
        return nodes_.size() - 1;
    }

    void precede(Node earlier, Node later) {
        nodes_[earlier]->successors.push_back(later);
        nodes_[later]->predecessors++;
    }

    void run(Team& team, Section& section) {
        for (const auto& node : nodes_) node->waiting.store(node->predecessors, std::memory_order_relaxed);
        run_tasks(team, section, [this] {
            TaskGroup group;
            for (Node node = 0; node < nodes_.size(); node++) {
                if (nodes_[node]->predecessors == 0) group.spawn([this, &group, node] { execute(group, node); });
            }
            group.wait();
        });
    }

private:
    struct State {
        std::function<void()> work;
        std::vector<Node> successors;
        int predecessors = 0;
        std::atomic<int> waiting{0};
    };

    void execute(TaskGroup& group, Node node) {
        nodes_[node]->work();
        for (const Node successor : nodes_[node]->successors) {
            if (nodes_[successor]->waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
            group.spawn([this, &group, successor] { execute(group, successor); });
        }
    }

    std::vector<std::unique_ptr<State>> nodes_;
};

}  // namespace mpet
