//! The extension module `cdc_extension._extension`: all Rust bindings in one library.

use pyo3::prelude::*;

#[pymodule]
mod _extension {
    use pyo3::prelude::*;

    #[pymodule_export]
    use commitlog_python::commitlog;
    #[pymodule_export]
    use event_encoding_python::encoding;
    #[pymodule_export]
    use mongo_encoder_python::mongo;
    #[pymodule_export]
    use spark_python::spark;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Python imports a submodule by its dotted name only from `sys.modules`.
        let modules = module.py().import("sys")?.getattr("modules")?;
        for name in ["commitlog", "encoding", "mongo", "spark"] {
            modules.set_item(format!("cdc_extension.{name}"), module.getattr(name)?)?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
