"""Scorers of this project's own: was the right text of the library found, and is it cited?"""

from __future__ import annotations

from cortex_eval import Case, Reply, Score, scorer


@scorer
def retrieval(case: Case, reply: Reply) -> Score | None:
    """1 divided by the rank of the passage that the case wants (`wanted_passage`); for `none`, 1 when nothing came."""
    wanted = case.metadata.get("wanted_passage")
    if wanted is None:
        return None
    found = [passage["id"] for passage in reply.metadata.get("passages", ())]
    if wanted == "none":
        return Score(name="retrieval", value=float(not found), reason=f"Nothing was to be found; found: {found}.")
    if wanted not in found:
        return Score(name="retrieval", value=0.0, reason=f"{wanted} is not among {found}.")
    rank = found.index(wanted) + 1
    return Score(name="retrieval", value=1 / rank, reason=f"{wanted} is number {rank} of {found}.", measure=rank)


@scorer
def cited(case: Case, reply: Reply) -> Score | None:  # noqa: ARG001  # a scorer is given both
    """1 when the answer cites something, and only what was found; one without passages has nothing to cite."""
    if not reply.contexts:
        return None
    found = {passage["id"] for passage in reply.metadata.get("passages", ())}
    unknown = [name for name in reply.citations if name not in found]
    if not reply.citations:
        return Score(name="cited", value=0.0, reason="The answer uses the library and cites nothing.")
    reason = f"Cites what was not found: {', '.join(unknown)}." if unknown else f"Cites {', '.join(reply.citations)}."
    return Score(name="cited", value=float(not unknown), reason=reason)
