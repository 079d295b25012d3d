import { devices, type Page } from '@playwright/test';
import { test } from '../support/test.ts';
import { cards, type Hand, loop, selectionBar } from './loop.ts';

const { deviceScaleFactor, hasTouch, isMobile, userAgent } = devices['Pixel 7'];
test.use({ viewport: { width: 390, height: 844 }, deviceScaleFactor, hasTouch, isMobile, userAgent });

function finger(page: Page): Hand {
  return {
    press: (target) => target.tap(),
    choose: (entry) => entry.tap(),
    submit: (button) => button.tap(),
    open: (card) => card.getByRole('button').first().tap(),
    write: async (field, text) => {
      await field.tap();
      await page.keyboard.type(text);
    },
    go: (place) =>
      page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: new RegExp(`^${place}`) })
        .tap(),
    selectAll: async () => {
      await cards(page).first().getByRole('button', { name: 'Actions' }).tap();
      await page.getByRole('menuitem', { name: 'Select' }).tap();
      await selectionBar(page)
        .getByRole('button', { name: /^Select all/ })
        .tap();
    },
  };
}

test('a new user goes through the loop on a phone of 390 px with a finger', async ({ page, fresh }) => {
  await loop(page, finger(page), fresh);
});
