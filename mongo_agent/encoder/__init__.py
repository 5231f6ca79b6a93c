from cdc_extension.mongo import *  # noqa: F403  # the stub lists them
from cdc_extension.mongo import __all__ as __all__
