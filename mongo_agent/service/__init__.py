"""The MongoDB agent as a service. Its parts are made here and nowhere else."""

from mongo_agent.service.service import MongoService, create_service

__all__ = ["MongoService", "create_service"]
