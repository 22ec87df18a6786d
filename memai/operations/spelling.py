"""How a store spells domains when they are written."""

from memai.records import Memory

POLICY = "domain_policy"  # a remark the store keeps about itself


def spelled(domain: str, policy: str | None) -> str:
    """Return a domain in lower case, upper case, or as it is."""
    if policy == "lower":
        return domain.lower()
    return domain.upper() if policy == "upper" else domain


def placed(memory: Memory, policy: str | None) -> Memory:
    """Return a memory that comes from elsewhere with its domain spelled as it is here."""
    if memory.domain is None:
        return memory
    return memory._replace(domain=spelled(memory.domain, policy))
