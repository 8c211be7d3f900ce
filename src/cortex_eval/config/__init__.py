"""The project file, and the plans that are made from it."""

from cortex_eval.config.build import make_plans
from cortex_eval.config.document import Document, read_document
from cortex_eval.config.edit import append_item, remove_item
from cortex_eval.config.given import Models, ScorerLike, read_gate, read_scorers
from cortex_eval.config.limits import RunOptions, read_options
from cortex_eval.config.model import DEFAULT_OUTPUT, ProjectModel
from cortex_eval.config.models import AsksModel, IsModel, named_model
from cortex_eval.config.outward import address_at
from cortex_eval.config.plan import DatasetSource, Plan
from cortex_eval.config.project import DEFAULT_FILES, DEFAULT_STORE, Project, load_project, resolved
from cortex_eval.config.request import Outline, Request, dataset_of, outline
from cortex_eval.config.schema import project_schema
from cortex_eval.config.scorers import without_weight

__all__ = [
    "DEFAULT_FILES",
    "DEFAULT_OUTPUT",
    "DEFAULT_STORE",
    "AsksModel",
    "DatasetSource",
    "Document",
    "IsModel",
    "Models",
    "Outline",
    "Plan",
    "Project",
    "ProjectModel",
    "Request",
    "RunOptions",
    "ScorerLike",
    "address_at",
    "append_item",
    "dataset_of",
    "load_project",
    "make_plans",
    "named_model",
    "outline",
    "project_schema",
    "read_document",
    "read_gate",
    "read_options",
    "read_scorers",
    "remove_item",
    "resolved",
    "without_weight",
]
