"""The scanner of this deployment: all detectors, with the national identities that the library can check."""

from app.domain.dlp.scanning import Scanner
from app.providers.redaction.national_ids import NATIONAL_IDS

SCANNER = Scanner(NATIONAL_IDS)
