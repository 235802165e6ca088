"""``python -m agent_kernel.jupyter -f connection.json``: what the kernelspec starts."""

from __future__ import annotations


def main() -> None:
    from ipykernel.kernelapp import IPKernelApp

    from agent_kernel.jupyter.kernel import AgentKernel

    IPKernelApp.launch_instance(kernel_class=AgentKernel)


if __name__ == "__main__":
    main()
