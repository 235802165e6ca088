"""Sub-agents: a loop of their own in this process, told in the run of their parent.
Sits on the loop; whoever starts one knows the ``Spawner`` seam only."""
