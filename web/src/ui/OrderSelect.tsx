import { Select } from './Field';

/** OrderSelect chooses the order of a list. The first order is the default, with the value undefined. */
export function OrderSelect({
  label,
  orders,
  value,
  onChange,
}: {
  label: string;
  orders: readonly { value: string; label: string }[];
  value: string | undefined;
  onChange(value: string | undefined): void;
}) {
  const usual = orders[0]?.value;
  return (
    <Select
      aria-label={label}
      value={value ?? usual}
      onChange={({ target }) => onChange(target.value === usual ? undefined : target.value)}
    >
      {orders.map((each) => (
        <option key={each.value} value={each.value}>
          {each.label}
        </option>
      ))}
    </Select>
  );
}
