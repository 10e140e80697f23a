"""Whether this machine is fit to measure, remember and serve: facts as values, nothing printed."""

from ortsel.doctor.diagnosis import Diagnosis, diagnose
from ortsel.doctor.extras import Extra, read_extras
from ortsel.doctor.provider_check import ProviderCheck, check_provider
from ortsel.doctor.store_check import StoreCheck, check_store

__all__ = [
    "Diagnosis",
    "Extra",
    "ProviderCheck",
    "StoreCheck",
    "check_provider",
    "check_store",
    "diagnose",
    "read_extras",
]
