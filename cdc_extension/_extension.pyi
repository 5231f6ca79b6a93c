from types import ModuleType

__version__: str
commitlog: ModuleType
encoding: ModuleType
mongo: ModuleType
spark: ModuleType
