"""The extension module. `commitlog`, `sidecar.encoding`, `mongo_agent.encoder` and `spark_jobs`
export its submodules; their stubs describe them."""

from cdc_extension._extension import __version__, commitlog, encoding, mongo, spark

__all__ = ["__version__", "commitlog", "encoding", "mongo", "spark"]
