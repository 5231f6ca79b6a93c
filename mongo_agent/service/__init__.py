"""The MongoDB agent as a service. Only this package creates its parts."""

from mongo_agent.service.service import MongoService, create_service

__all__ = ["MongoService", "create_service"]
