from cdc_extension.spark import *  # noqa: F403  # the stub lists them
from cdc_extension.spark import __all__ as __all__
