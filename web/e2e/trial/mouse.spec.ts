import type { Page } from '@playwright/test';
import { test } from '../support/test.ts';
import { cards, type Hand, loop, selectionBar } from './loop.ts';

function mouse(page: Page): Hand {
  return {
    press: (target) => target.click(),
    choose: (entry) => entry.click(),
    submit: (button) => button.click(),
    open: (card) => card.getByRole('button').first().click(),
    write: async (field, text) => {
      await field.click();
      await page.keyboard.type(text);
    },
    go: (place) =>
      page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: new RegExp(`^${place}`) })
        .click(),
    selectAll: async () => {
      await cards(page).first().hover();
      await cards(page).first().getByRole('checkbox').click();
      await selectionBar(page)
        .getByRole('button', { name: /^Select all/ })
        .click();
    },
  };
}

test('a new user goes through the loop with the mouse alone', async ({ page, fresh }) => {
  await loop(page, mouse(page), fresh);
});
