"""Check digits of accounts and cards against published examples."""

from __future__ import annotations

import pytest

from provegym.servers.banking.numbers import is_card_number, is_iban, luhn_digit, make_iban


@pytest.mark.parametrize(
    "iban",
    # the examples of the ISO 13616 registry
    [
        "GB82WEST12345698765432",
        "DE89370400440532013000",
        "NL91ABNA0417164300",
        "NO9386011117947",
        "BE68539007547034",
    ],
)
def test_a_registry_example_is_an_iban_and_no_single_wrong_digit_is(iban: str) -> None:
    assert is_iban(iban)
    assert make_iban(iban[:2], iban[4:]) == iban
    for i, c in enumerate(iban):
        if c.isdigit():
            assert not is_iban(iban[:i] + str((int(c) + 1) % 10) + iban[i + 1 :])


def test_an_iban_has_its_countrys_length_and_no_spaces() -> None:
    assert not is_iban("GB82 WEST 1234 5698 7654 32")
    assert not is_iban("XX82WEST12345698765432")
    assert not is_iban(make_iban("GB", "WEST1234569876543"))


def test_check_digits_below_ten_keep_their_zero() -> None:
    low = [make_iban("NO", f"{n:011d}") for n in range(300)]
    assert all(map(is_iban, low))
    assert any(iban[2] == "0" for iban in low)


def test_the_luhn_digit_is_the_one_worked_out_by_hand() -> None:
    # from the right, every other digit doubled: 2+7+7+9+6+7+4+9+9+7 = 67, and 3 completes 70
    assert luhn_digit("7992739871") == "3"
    assert is_card_number("4111111111111111")
    assert is_card_number("5555555555554444")
    assert not is_card_number("4111111111111112")
    assert not is_card_number("1411111111111111")
