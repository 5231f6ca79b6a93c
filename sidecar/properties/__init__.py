"""Java properties files as typed, frozen configuration.

An agent declares its properties as a `Properties` model, one `prop` each; `load` fills it:

    class AgentProperties(SidecarProperties):
        cassandra_port: int = prop("cassandra.port", default=9042, doc="Native port.")

    loaded = load(AgentProperties, [Path("cdc.properties")])
    loaded.properties.cassandra_port
"""
