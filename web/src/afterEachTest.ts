import { cleanup } from '@testing-library/react';
import { afterEach } from 'vitest';

// Test files share their document: what a test has rendered must not be there for the next one.
afterEach(cleanup);
