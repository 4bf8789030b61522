module heat
contains
  subroutine step(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    integer :: i
    !$omp parallel do
    do i = 1, n
      a(i) = a(i) * 0.5d0 + i
    end do
  end subroutine
end module
subroutine smooth(a, n)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n)
  integer :: i
  !$omp parallel do
  do i = 1, n
    a(i) = a(i) + 1
  end do
end subroutine
program main_heat
  use heat
  real(8) :: a(100000)
  integer :: i, k
  a = 0
  do k = 1, 100
    call step(a, size(a))
    call smooth(a, size(a))
    call inner()
  end do
  !$omp parallel do
  do i = 1, size(a)
    a(i) = a(i) + 2
  end do
  print *, sum(a)
contains
  subroutine inner()
    integer :: j
    !$omp parallel do
    do j = 1, size(a)
      a(j) = a(j) - 1
    end do
  end subroutine
end program
