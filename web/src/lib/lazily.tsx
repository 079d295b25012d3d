import { type ComponentType, lazy, Suspense } from 'react';

/** lazily is a component that loads when it is first drawn, with nothing in its place until then. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const Part = lazy(async () => ({ default: (await load()) as ComponentType<object> }));
  return function Lazily(props: P) {
    return (
      <Suspense>
        <Part {...props} />
      </Suspense>
    );
  };
}
