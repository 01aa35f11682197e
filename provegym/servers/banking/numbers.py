"""Check digits of account and card numbers.

IBAN: ISO 13616 with the mod 97-10 check of ISO/IEC 7064. Cards: the Luhn formula of
ISO/IEC 7812-1, annex B.
"""

from __future__ import annotations

import re
from random import Random
from string import ascii_uppercase

IBAN_LENGTHS = {
    **{"AT": 20, "BE": 16, "CH": 21, "DE": 22, "DK": 18, "ES": 24, "FI": 18},
    **{"FR": 27, "GB": 22, "IE": 22, "IT": 27, "LU": 20, "NL": 18, "NO": 15},
    **{"PL": 28, "PT": 25, "SE": 24},
}
"""Length of an IBAN by country, as the ISO 13616 registry states it."""

BANK_CODE = "HARB"
"""The four letters by which this bank's own IBANs are known."""

_OTHER_BANKS = ("LOYD", "BARC", "NWBK", "MIDL", "ABBY")
_SHAPE = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{8,26}")
_VALUES = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_uppercase})


def _remainder(text: str) -> int:
    """The text modulo 97, letters read as 10 to 35."""
    return int(text.translate(_VALUES)) % 97


def make_iban(country: str, account: str) -> str:
    """The IBAN of a country's account number (its BBAN), check digits included."""
    return f"{country}{98 - _remainder(account + country + '00'):02d}{account}"


def is_iban(text: str) -> bool:
    """Whether the text is a well-formed IBAN with right length and check digits, unspaced."""
    if not _SHAPE.fullmatch(text):
        return False
    return IBAN_LENGTHS.get(text[:2]) == len(text) and _remainder(text[4:] + text[:4]) == 1


def is_own_iban(iban: str) -> bool:
    """Whether the account behind an IBAN would be held at this bank."""
    return iban[:2] == "GB" and iban[4:8] == BANK_CODE


def own_iban(rnd: Random) -> str:
    """A fresh IBAN of this bank: sort code and eight-digit account number."""
    return make_iban("GB", f"{BANK_CODE}204117{rnd.randrange(10**8):08d}")


def other_iban(rnd: Random) -> str:
    """A fresh IBAN at some other bank in the United Kingdom or Germany."""
    if rnd.random() < 0.8:
        bank = rnd.choice(_OTHER_BANKS)
        return make_iban("GB", f"{bank}{rnd.randrange(10**6):06d}{rnd.randrange(10**8):08d}")
    return make_iban("DE", f"{rnd.randrange(10**7, 9 * 10**7)}{rnd.randrange(10**10):010d}")


def luhn_digit(digits: str) -> str:
    """The digit that makes `digits` a valid card number."""
    doubled = [int(d) * (2 if i % 2 == 0 else 1) for i, d in enumerate(reversed(digits))]
    return str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)


def is_card_number(text: str) -> bool:
    """Whether the text is 12 to 19 digits that pass the Luhn check."""
    return bool(re.fullmatch(r"[0-9]{12,19}", text)) and luhn_digit(text[:-1]) == text[-1]


def card_number(network: str, rnd: Random) -> str:
    """A fresh 16-digit number in the range of Visa (4) or Mastercard (51 to 55)."""
    start = "4" if network == "Visa" else f"5{rnd.randrange(1, 6)}"
    body = start + "".join(rnd.choices("0123456789", k=15 - len(start)))
    return body + luhn_digit(body)
