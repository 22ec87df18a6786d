"""How a store spells domains when they are written."""

POLICY = "domain_policy"  # a remark the store keeps about itself


def spelled(domain: str, policy: str | None) -> str:
    """Return a domain in lower case, upper case, or as it is."""
    if policy == "lower":
        return domain.lower()
    return domain.upper() if policy == "upper" else domain
