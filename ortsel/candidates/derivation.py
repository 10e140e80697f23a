"""Deriving a candidate from the reference: everything that is not changed on purpose is kept."""

from attrs import evolve

from ortsel.plan import Plan, Provider, SessionSettings, Shapes


def derive(
    reference: Plan,
    name: str,
    *,
    notes: str,
    settings: SessionSettings | None = None,
    providers: tuple[Provider, ...] | None = None,
    variant: str | None = None,
    disabled_optimizers: tuple[str, ...] | None = None,
    shapes: Shapes | None = None,
    fixed_addresses: bool = False,
) -> Plan:
    """Return a copy of the reference under another name, with the given parts replaced."""
    return evolve(
        reference,
        name=name,
        notes=notes,
        settings=reference.settings if settings is None else settings,
        providers=reference.providers if providers is None else providers,
        variant=reference.variant if variant is None else variant,
        disabled_optimizers=(
            reference.disabled_optimizers if disabled_optimizers is None else disabled_optimizers
        ),
        shapes=reference.shapes if shapes is None else shapes,
        fixed_addresses=reference.fixed_addresses or fixed_addresses,
    )
