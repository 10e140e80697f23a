"""A real Ray cluster on this machine: prints its address, and ends when stdin does.

The only argument is the number of nodes; each offers one `ortsel_machine`.
"""

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    cluster: Any = import_module("ray.cluster_utils").Cluster()
    try:
        for _ in range(int(sys.argv[1])):
            cluster.add_node(
                num_cpus=1,
                resources={"ortsel_machine": 1},
                object_store_memory=80 * 2**20,
                include_dashboard=False,
            )
        print(cluster.address, flush=True)
        sys.stdin.read()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
