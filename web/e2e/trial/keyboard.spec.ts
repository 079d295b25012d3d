import type { Locator, Page } from '@playwright/test';
import { expect, test } from '../support/test.ts';
import { cards, type Hand, loop, selectionBar } from './loop.ts';

/** How many times a key is pressed to reach an element before the test fails. */
const patience = 20;

function keyboard(page: Page): Hand {
  /** reach presses a key until an element has the focus. */
  const reach = async (target: Locator, key = 'Tab'): Promise<void> => {
    await expect(target).toBeVisible();
    for (let pressed = 0; pressed <= patience; pressed++) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press(key);
    }
    throw new Error(`${target} is not reached with ${patience} times ${key}`);
  };
  const press = async (target: Locator, key = 'Enter'): Promise<void> => {
    await reach(target);
    await page.keyboard.press((await target.getAttribute('type')) === 'checkbox' ? 'Space' : key);
  };
  return {
    press,
    choose: async (entry) => {
      await reach(entry, 'ArrowDown');
      await page.keyboard.press('Enter');
    },
    submit: () => page.keyboard.press('Enter'),
    // Tab moves to the board, and the arrow keys move from card to card.
    open: async (card) => {
      await reach(cards(page).first().getByRole('button').first());
      await reach(card.getByRole('button').first(), 'ArrowDown');
      await page.keyboard.press('Enter');
    },
    write: async (field, text) => {
      await reach(field);
      await page.keyboard.type(text);
    },
    go: async (place) => {
      await page.keyboard.press('g');
      await page.keyboard.press(place.charAt(0).toLowerCase());
    },
    selectAll: async () => {
      await reach(cards(page).first().getByRole('button').first());
      await page.keyboard.press('x');
      await press(selectionBar(page).getByRole('button', { name: /^Select all/ }));
    },
  };
}

test('a new user goes through the loop with the keyboard alone', async ({ page, fresh }) => {
  await loop(page, keyboard(page), fresh);
});
